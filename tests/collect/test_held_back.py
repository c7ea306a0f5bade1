"""How long a limit held us back: of both versions as recorded, and for real in a group with one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.collect.held_back import held_back
from dbdyno.collect.tree import Tree
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.setters.outfit import apply_all, missing_of_host
from dbdyno.setters.setter import Scene

MOUNTS = {
    "1": "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
    "2": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
}


@pytest.mark.parametrize(
    ("version", "groups", "file", "said"),
    [
        ("1", "4:cpu:/lab\n0::/lab\n", "cpu/lab/cpu.stat", "throttled_time 1500000000"),
        ("1", "4:cpu:/\n0::/\n", "cpu/cpu.stat", "throttled_time 1500000000"),
        ("2", "0::/lab\n", "lab/cpu.stat", "nr_throttled 4\nthrottled_usec 1500000"),
        ("2", "0::/\n", "cpu.stat", "nr_throttled 4\nthrottled_usec 1500000"),
    ],
)
def test_both_versions_tell_it(
    version: str, groups: str, file: str, said: str, tmp_path: Path
) -> None:
    files = {
        "proc/self/mountinfo": MOUNTS[version],
        "proc/self/cgroup": groups,
        f"sys/fs/cgroup/{file}": said,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert held_back(Tree(tmp_path))() == 1.5


def test_a_machine_that_does_not_say_has_no_figure(tmp_path: Path) -> None:
    assert held_back(Tree(tmp_path))() is None


@pytest.mark.alone  # What others take it can't be held back from.
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_limit_of_half_a_processor_holds_back_what_wants_a_whole_one(tmp_path: Path) -> None:
    limits = {"limits": {"cpus": 0.5}}
    assert not missing_of_host(limits)
    code = (
        "import time\nfrom dbdyno.collect.held_back import held_back\n"
        "read = held_back()\nbefore = read()\n"
        "end = time.monotonic() + 2\nwhile time.monotonic() < end: pass\nprint(read() - before)"
    )
    with Guarded() as guarded:
        outfit = apply_all(limits, guarded, Scene(tmp_path, server_account()))
        argv = [*outfit.server.prefix(), sys.executable, "-c", code]
        told = subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    assert 0.6 < float(told) < 1.4
