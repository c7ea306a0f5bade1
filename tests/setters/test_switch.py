"""Any switch of the kernel, by path or by its name for sysctl."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.errors import MachineError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import read_switch
from dbdyno.setters.outfit import apply_all
from dbdyno.setters.switch import SETTER

__all__ = ["without_root"]

SWAPPINESS = Path("/proc/sys/vm/swappiness")
BUFFERS = Path("/proc/sys/net/ipv4/tcp_rmem")


def test_a_name_and_its_path_are_one() -> None:
    assert SETTER.read({"vm.swappiness": 1}) == SETTER.read({str(SWAPPINESS): "1"})


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "swappiness", "/sys/../etc/passwd", "/proc/sys", "/proc/self/oom"]
)
def test_what_is_no_switch_of_the_kernel_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a file under /proc/sys or /sys"):
        SETTER.read({name: "1"})


def test_a_switch_that_this_kernel_lacks_is_missing() -> None:
    (missing,) = SETTER.missing(SETTER.read({"vm.no_such_switch": 1}))

    assert missing.what == "/proc/sys/vm/no_such_switch does not exist"


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line() -> None:
    (missing,) = SETTER.missing(SETTER.read({"vm.swappiness": 1}))

    assert missing.what == f"{SWAPPINESS} can't be written"


@root_only
@pytest.mark.usefixtures("clean")
def test_switches_are_written_and_put_back(tmp_path: Path) -> None:
    before = read_switch(SWAPPINESS), read_switch(BUFFERS)
    other = str(int(before[0]) + 1)
    host = {"switch": {"vm.swappiness": int(other), str(BUFFERS): "4096   65536\t6291456"}}
    with Guarded() as guarded:
        told = apply_all(host, guarded, scene(tmp_path)).facts()["switch"]
        assert (read_switch(SWAPPINESS), read_switch(BUFFERS)) == (other, "4096 65536 6291456")

    assert told["before"] == {str(SWAPPINESS): before[0], str(BUFFERS): before[1]}
    assert (read_switch(SWAPPINESS), read_switch(BUFFERS)) == before


@root_only
@pytest.mark.usefixtures("clean")
def test_a_value_that_the_kernel_refuses_is_told_and_changes_nothing(tmp_path: Path) -> None:
    before = read_switch(SWAPPINESS)
    with Guarded() as guarded, pytest.raises(MachineError, match="Invalid argument"):
        apply_all({"switch": {"vm.swappiness": "much"}}, guarded, scene(tmp_path))

    assert read_switch(SWAPPINESS) == before
