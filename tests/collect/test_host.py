"""Facts of this host as it is, and of recorded and imagined ones."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbdyno.collect import environment_id, host_facts, red_flags
from dbdyno.collect.boundary import control_groups
from dbdyno.collect.storage import mount_of, storage
from dbdyno.collect.tree import Tree


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return host_facts(tmp_path_factory.mktemp("data"))


def write(root: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def test_facts_of_this_host_agree_with_other_witnesses(facts: dict[str, Any]) -> None:
    assert facts["kernel"]["release"] == os.uname().release
    assert facts["processor"]["threads"] == os.cpu_count()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["memory"]["total_bytes"] == pytest.approx(pages, rel=0.01)
    assert facts["storage"]["file_system"]
    assert 0 <= facts["now"]["storage"]["used_percent"] <= 100


def test_the_load_is_the_kernel_s(tmp_path: Path) -> None:
    tree = write(tmp_path, {"proc/loadavg": "0.50 1.25 2.00 3/456 7890\n"})

    now: Any = host_facts(tree=tree)["now"]
    assert now["load_average"] == [0.5, 1.25, 2.0]


def test_what_else_ran_may_have_been_looked_at_before(tmp_path: Path) -> None:
    seen = {"steal_percent": 3.0, "busy_processes": [{"name": "cc1", "processor_percent": 98.0}]}

    now: Any = host_facts(tree=Tree(tmp_path), activity=seen)["now"]
    assert {name: now[name] for name in seen} == seen
    assert now.keys() == host_facts(tree=Tree(tmp_path))["now"].keys()  # type: ignore[attr-defined]


def test_facts_can_be_stored(facts: dict[str, Any]) -> None:
    assert json.loads(json.dumps(facts)) == facts


def test_the_environment_id_forgets_what_changes_by_itself(facts: dict[str, Any]) -> None:
    later = {**facts, "now": {}, "software": {}}
    other = {**facts, "memory": {**facts["memory"], "swappiness": 1}}

    assert environment_id(facts) == environment_id(later)
    assert environment_id(facts) != environment_id(other)
    assert len(environment_id(facts)) == 16


def test_the_number_of_a_loop_device_is_chance(facts: dict[str, Any]) -> None:
    def on(device: str, size_bytes: int = 1) -> str:
        disk = {"name": device, "size_bytes": size_bytes}
        return environment_id({**facts, "storage": {"source": f"/dev/{device}", "devices": [disk]}})

    assert on("loop0") == on("loop12")
    assert on("loop0") != on("loop12", size_bytes=2)
    assert on("sda") != on("sdb")


@pytest.mark.alone  # Others change switches of the machine.
def test_two_looks_at_one_machine_have_one_id(tmp_path: Path) -> None:
    assert environment_id(host_facts(tmp_path)) == environment_id(host_facts(tmp_path))


def test_a_machine_that_shows_nothing_gives_facts_all_the_same(tmp_path: Path) -> None:
    facts = host_facts(tree=Tree(tmp_path))

    assert facts["storage"] == {}
    assert isinstance(facts["processor"], dict)
    assert facts["processor"]["model"] is None
    assert red_flags(facts) is not None


@pytest.mark.parametrize("folder", ["/", "/tenant/run"])
def test_limits_of_version_2_groups_are_the_tightest_above_us(tmp_path: Path, folder: str) -> None:
    tree = write(
        tmp_path,
        {
            "proc/self/cgroup": f"0::{folder}\n",
            "proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/tenant/cpu.max": "150000 100000",
            "sys/fs/cgroup/tenant/memory.max": "1073741824",
            "sys/fs/cgroup/tenant/run/cpu.max": "max 100000",
            "sys/fs/cgroup/tenant/run/memory.max": "2147483648",
        },
    )

    found = control_groups(tree)

    inside = folder != "/"
    assert found["version"] == "2"
    assert found["cpus"] == (1.5 if inside else None)
    assert found["memory_bytes"] == (2**30 if inside else None)


def test_limits_of_version_1_groups_are_read_too(tmp_path: Path) -> None:
    tree = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n",
            "proc/self/mountinfo": (
                "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "32 24 0:28 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            ),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "25000",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "50000",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912",
        },
    )

    found = control_groups(tree)

    assert (found["version"], found["cpus"], found["memory_bytes"]) == ("1", 0.5, 2**29)


def test_the_mount_of_a_folder_is_the_last_and_longest(tmp_path: Path) -> None:
    data = tmp_path / "my data"
    data.mkdir()
    spaced = str(data).replace(" ", "\\040")
    tree = write(
        tmp_path,
        {
            "proc/self/mountinfo": (
                "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
                f"2 1 0:40 / {spaced} rw,noatime shared:1 - tmpfs none rw,size=4k\n"
                f"3 1 254:16 / {spaced} rw,noatime - xfs /dev/vdb rw,attr2\n"
            )
        },
    )

    mount = mount_of(tree, data / "run")

    assert mount is not None
    assert (mount.kind, mount.source, mount.options) == ("xfs", "/dev/vdb", "rw,noatime,attr2")
    assert storage(tree, data)["devices"] == []


Change = Callable[[dict[str, Any]], None]


def set_fact(*path: str, to: object) -> Change:
    """A change of one fact in a copy."""

    def change(facts: dict[str, Any]) -> None:
        for step in path[:-1]:
            facts = facts[step]
        facts[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("governor", set_fact("processor", "governor", to="schedutil")),
        ("energy-preference", set_fact("processor", "energy_preference", to="power")),
        ("clock-source", set_fact("kernel", "clock_source", to="hpet")),
        ("affinity", set_fact("processor", "threads", to=10_000)),
        ("huge-pages", set_fact("memory", "transparent_huge_pages", to="always")),
        ("swap", set_fact("now", "swap_used_bytes", to=2**30)),
        ("data-in-memory", set_fact("storage", "file_system", to="tmpfs")),
        ("data-remote", set_fact("storage", "file_system", to="nfs4")),
        ("file-system", set_fact("storage", "file_system", to="overlay")),
        ("disk-full", set_fact("now", "storage", to={"used_percent": 90.0})),
        ("rotating-disk", set_fact("storage", "devices", to=[{"rotational": "1"}])),
        ("cpu-quota", set_fact("control_groups", "cpus", to=0.5)),
        ("memory-limit", set_fact("control_groups", "memory_bytes", to=2**20)),
        ("virtual-machine", set_fact("virtualisation", "virtual_machine", to=True)),
        ("open-files", set_fact("limits", "open_files", to=[1024, None])),
        (
            "busy",
            set_fact("now", "busy_processes", to=[{"name": "cc1", "processor_percent": 98.0}]),
        ),
        ("steal", set_fact("now", "steal_percent", to=7.0)),
        ("battery", set_fact("now", "on_battery", to=True)),
        ("throttled", set_fact("now", "processor", to={"throttled": 3})),
    ],
)
def test_each_flag_is_raised_by_its_fact_alone(
    facts: dict[str, Any], code: str, change: Change
) -> None:
    quiet = json.loads(json.dumps(facts))
    quiet["virtualisation"]["virtual_machine"] = False
    quiet["storage"].update(file_system="ext4", devices=[])
    quiet["now"].update(
        busy_processes=[],
        steal_percent=0.0,
        swap_used_bytes=0,
        on_battery=None,
        processor={"throttled": None},
        storage={"used_percent": 10.0},
    )
    quiet["processor"].update(governor="performance", energy_preference=None, threads=1)
    quiet["kernel"]["clock_source"] = "tsc"
    quiet["memory"]["transparent_huge_pages"] = "madvise"
    quiet["control_groups"].update(cpus=None, memory_bytes=None)
    quiet["limits"]["open_files"] = [20_000, 20_000]
    assert red_flags(quiet) == []

    change(quiet)

    assert [flag.code for flag in red_flags(quiet)] == [code]
    of_a_study = red_flags(quiet, asked=["transparent_hugepages"])
    assert [flag.code for flag in of_a_study] == [code] * (code != "huge-pages")


@pytest.mark.parametrize(
    ("server", "codes"),
    [
        ({"durability": "D2", "debug_assertions": "off"}, []),
        ({"durability": "D1"}, ["durability"]),
        ({"durability": "D0", "debug_assertions": "on"}, ["debug-build", "durability"]),
    ],
)
def test_a_server_raises_flags_of_its_own(
    facts: dict[str, Any], server: dict[str, str], codes: list[str]
) -> None:
    own = len(red_flags(facts))

    assert [flag.code for flag in red_flags(facts, server)][own:] == codes
