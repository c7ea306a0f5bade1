"""A server's share of processors and memory, by control groups of either version."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scene import root_only, scene, without_root
from server_process import told_by

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY
from dbdyno.setters.cgroup import Hierarchy, find_hierarchy
from dbdyno.setters.limits import SETTER, Limits, _files
from dbdyno.setters.outfit import apply_all

__all__ = ["without_root"]

BURN = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
EAT = "b = bytearray(256 << 20)\n"


def tree(root: Path, groups: str, mounts: str) -> Path:
    """A machine with these control groups."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(groups)
    (root / "proc" / "self" / "mountinfo").write_text(mounts)
    return root


V1 = "31 30 0:27 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def test_limits_are_read_with_their_units() -> None:
    assert SETTER.read({"cpus": 1.5, "memory": "1 GB"}) == Limits(1.5, 1 << 30)


def test_clients_have_limits_of_their_own() -> None:
    value = SETTER.read({"cpus": 2, "client": {"cpus": 0.5, "memory": "64 MB"}})
    assert value == Limits(2.0, None, Limits(0.5, 64 << 20))
    assert SETTER.read({"client": {"cpus": 1}}) == Limits(None, None, Limits(1.0, None))


@pytest.mark.parametrize(
    "client", [{}, {"cpus": 0}, {"processors": 1}, {"client": {"cpus": 1}}, 0.5]
)
def test_limits_of_clients_that_can_not_be_are_refused(client: object) -> None:
    with pytest.raises(ValueError, match=r"^`client`: expected"):
        SETTER.read({"client": client})


@pytest.mark.parametrize("value", [{"cpus": 0}, {"cpus": True}, {"memory": "1 MB"}, {"memory": 5}])
def test_what_can_not_be_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^expected"):
        SETTER.read(value)


def test_version_1_is_found_below_our_own_group(tmp_path: Path) -> None:
    root = tree(tmp_path, "4:memory:/a/b\n", V1.format(top="/"))

    assert find_hierarchy("memory", root) == Hierarchy(1, root / "sys/fs/cgroup/memory/a/b")
    assert find_hierarchy("cpu", root) is None


def test_version_1_in_a_container_is_found_where_it_is_shown(tmp_path: Path) -> None:
    root = tree(tmp_path, "4:memory:/docker/x\n", V1.format(top="/docker/x"))

    assert find_hierarchy("memory", root) == Hierarchy(1, root / "sys/fs/cgroup/memory")


def test_version_2_is_found_where_the_controller_is_handed_down(tmp_path: Path) -> None:
    root = tree(tmp_path, "0::/user/session\n", V2)
    for group, controllers in (("user/session", ""), ("user", "memory"), ("", "cpu memory")):
        folder = root / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(controllers)

    assert find_hierarchy("memory", root) == Hierarchy(2, root / "sys/fs/cgroup/user")
    assert find_hierarchy("cpu", root) == Hierarchy(2, root / "sys/fs/cgroup")
    assert find_hierarchy("io", root) is None


def test_each_version_has_files_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "memory.swap.max").touch()
    value = Limits(0.5, 1 << 30)

    assert _files("cpu", value, 2, tmp_path) == [("cpu.max", "50000 100000")]
    assert _files("memory", value, 2, tmp_path) == [
        ("memory.max", "1073741824"),
        ("memory.swap.max", "0"),
    ]
    assert _files("cpu", value, 1, tmp_path)[1] == ("cpu.cfs_quota_us", "50000")


@pytest.mark.usefixtures("without_root")
def test_without_root_each_controller_is_told_in_a_line() -> None:
    assert len(SETTER.missing(Limits(1.0, 1 << 30))) == 2
    assert len(SETTER.missing(Limits(None, None, Limits(1.0, 1 << 30)))) == 2


@pytest.fixture
def possible() -> None:
    if SETTER.missing(Limits(1.0, 1 << 30)):
        pytest.skip("no control groups to be had here")


@root_only
@pytest.mark.usefixtures("clean", "possible")
def test_a_server_gets_no_more_of_the_processors(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"limits": {"cpus": 0.1}}, guarded, scene(tmp_path))
        told_by(guarded, outfit.server, [sys.executable, "-S", "-c", BURN], tmp_path)
        seen = outfit.facts([])["limits"]["got"]

    assert int(str(seen["cpu_periods_throttled"])) > 0
    assert not [Path(group) for group in outfit.server.cgroups if Path(group).exists()]


@root_only
@pytest.mark.usefixtures("clean", "possible")
def test_a_server_gets_no_more_memory(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"limits": {"memory": "64 MB"}}, guarded, scene(tmp_path))
        with pytest.raises(AssertionError):
            told_by(guarded, outfit.server, [sys.executable, "-S", "-c", EAT], tmp_path)
        seen = outfit.facts([])["limits"]["got"]

    assert 48 << 20 < int(str(seen["memory_peak_bytes"])) <= 64 << 20


@root_only
@pytest.mark.usefixtures("clean", "possible")
def test_clients_get_no_more_of_the_processors_and_the_server_is_not_held_back(
    tmp_path: Path,
) -> None:
    with Guarded() as guarded:
        outfit = apply_all(
            {"limits": {"cpus": 64, "client": {"cpus": 0.02}}}, guarded, scene(tmp_path)
        )
        told_by(guarded, outfit.client, [sys.executable, "-S", "-c", BURN], tmp_path)
        told_by(guarded, outfit.server, [sys.executable, "-S", "-c", "0"], tmp_path)
        facts = outfit.facts([])["limits"]

    after, seen = facts["after"], facts["got"]
    assert (after["cpus"], after["client_cpus"]) == (64, 0.02)
    assert int(str(seen["client_cpu_periods_throttled"])) > 0
    assert int(str(seen["cpu_periods_throttled"])) == 0
    groups = {*outfit.server.cgroups, *outfit.client.cgroups}
    assert len(groups) == 2
    assert not [group for group in groups if Path(group).exists()]


@root_only
@pytest.mark.usefixtures("clean", "possible")
def test_clients_get_no_more_memory(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"limits": {"client": {"memory": "64 MB"}}}, guarded, scene(tmp_path))
        assert outfit.server == ORDINARY
        with pytest.raises(AssertionError):
            told_by(guarded, outfit.client, [sys.executable, "-S", "-c", EAT], tmp_path)
        seen = outfit.facts([])["limits"]["got"]

    assert 48 << 20 < int(str(seen["client_memory_peak_bytes"])) <= 64 << 20
