"""Processors of their own: for the server's process and for the client's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from scene import scene
from server_process import told_by

from dbdyno.guard.guarded import Guarded
from dbdyno.setters.cpus import SETTER, as_text, first_of_cores, share
from dbdyno.setters.outfit import apply_all

LOOK = ["sh", "-c", "awk '/Cpus_allowed_list/ {print $2}' /proc/self/status"]


@pytest.mark.parametrize(
    ("value", "cpus"),
    [("0-3,6", (0, 1, 2, 3, 6)), ([1, 0], (0, 1)), ("5", (5,)), (" 1, 3 ", (1, 3))],
)
def test_processors_are_written_as_the_kernel_does_or_as_a_list(
    value: object, cpus: tuple[int, ...]
) -> None:
    assert SETTER.read({"server": value}) == {"server": cpus}
    assert SETTER.read({"server": as_text(cpus)}) == {"server": cpus}


@pytest.mark.parametrize(
    "value", ["", "3-1", "0-", "a", [], [True], [-1, 0], 1.5, "0-99999", "3/2", "1/0"]
)
def test_what_names_no_processors_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected processors"):
        SETTER.read({"client": value})


def test_a_processor_that_is_not_there_is_missing() -> None:
    (missing,) = SETTER.missing(SETTER.read({"server": "4095"}))

    assert missing.what.startswith("processor 4095 is not available")


def test_server_and_client_run_where_they_are_told(tmp_path: Path) -> None:
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    with Guarded() as guarded:
        host = {"cpus": {"server": str(first), "client": str(last)}}
        outfit = apply_all(host, guarded, scene(tmp_path))

        assert told_by(guarded, outfit.server, LOOK, tmp_path).strip() == str(first)
    client = [*outfit.client.prefix(), *LOOK]
    assert subprocess.check_output(client, text=True).strip() == str(last)


def test_the_processors_of_a_process_are_seen(tmp_path: Path) -> None:
    ours = as_text(sorted(os.sched_getaffinity(0)))
    with Guarded() as guarded:
        outfit = apply_all({"cpus": {"server": ours}}, guarded, scene(tmp_path))

    assert outfit.facts([os.getpid(), 2**22])["cpus"]["got"] == {"server": ours}


def test_one_hardware_thread_of_each_core(tmp_path: Path) -> None:
    cores = {0: ("0", "0"), 1: ("0", "1"), 2: ("0", "0"), 3: ("0", "1"), 4: ("1", "0")}
    for cpu, (package, core) in cores.items():
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(package)
        (folder / "core_id").write_text(core)

    assert first_of_cores([0, 1, 2, 3, 4], tmp_path) == (0, 1, 4)
    assert first_of_cores([2, 3], tmp_path) == (2, 3)
    assert first_of_cores([7, 8], tmp_path) == (7, 8)


def test_all_threads_are_those_that_may_be_used() -> None:
    ours = tuple(sorted(os.sched_getaffinity(0)))

    assert SETTER.read({"server": "threads"}) == {"server": ours}
    assert set(SETTER.read({"server": "cores"})["server"]) <= set(ours)


@pytest.mark.parametrize(
    ("part", "parts", "there", "numbers"),
    [(1, 4, 8, (0, 1)), (3, 4, 8, (0, 1, 2, 3, 4, 5)), (1, 4, 2, (0,)), (1, 1, 3, (0, 1, 2))],
)
def test_a_share_is_the_first_processors(
    part: int, parts: int, there: int, numbers: tuple[int, ...]
) -> None:
    assert share(range(there), part, parts) == numbers
    ours = tuple(sorted(os.sched_getaffinity(0)))
    assert SETTER.read({"server": f"{part}/{parts}"}) == {"server": share(ours, part, parts)}
