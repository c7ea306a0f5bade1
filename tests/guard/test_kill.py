"""Whatever is killed, and whenever: the machine is as it was.

After lab and guard were both killed, it is so once the next command has looked.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.guard import guarded
from dbdyno.guard.undo import read_switch
from traces import LIMIT_S, descendants, no_trace, wait_until_gone

PACKAGE = Path(guarded.__file__).parents[2]
SCENE = Path(__file__).with_name("changed_machine.py")
SWITCHES = [
    Path("/sys/kernel/mm/transparent_hugepage", name)
    for name in ("enabled", "shmem_enabled", "khugepaged/pages_to_scan")
]
VICTIMS = ("lab", "guard", "lab and guard", "server")
LONGEST_S = 6.0
"""Longer than the scene needs until its server is ready."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


def switches() -> list[str]:
    return [read_switch(path) for path in SWITCHES if path.exists()]


@contextlib.contextmanager
def changed_machine(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, str(SCENE), str(folder)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def is_guard(pid: int) -> bool:
    return b"dbdyno.guard" in command_line(pid)


def is_server(pid: int) -> bool:
    return b"/postgres\0-D" in command_line(pid)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(victim: str, lab: subprocess.Popen[bytes]) -> None:
    """By SIGKILL; nothing happens to one that isn't there yet."""
    below = descendants(lab.pid)
    pids: list[int] = []
    if "guard" in victim:
        # The lab is held, so that it does not put right what the guard can't any more.
        pids += filter(is_guard, below)
        if "lab" in victim:
            with contextlib.suppress(ProcessLookupError):
                os.kill(lab.pid, signal.SIGSTOP)
    if "lab" in victim:
        pids.append(lab.pid)
    if victim == "server":
        pids += list(filter(is_server, below))[:1]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def one_death(victim: str, moment_s: float | None, folder: Path) -> None:
    """Kills at a moment, or (`None`) once the server is ready; then looks at what is left."""
    before = switches()
    with no_trace(), changed_machine(folder) as lab:
        if moment_s is None:
            assert lab.stdout is not None and lab.stdout.readline() == b"ready\n"
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                lab.wait(moment_s)
        below = list(descendants(lab.pid))[1:]
        kill(victim, lab)
        if moment_s is not None and victim in ("guard", "server"):
            # It may have come before there was one: then the scene is ended as a user would.
            with contextlib.suppress(ProcessLookupError):
                lab.send_signal(signal.SIGINT)
        lab.wait(LIMIT_S)
        wait_until_gone(below)
        if victim == "lab and guard":
            guarded.sweep()
    assert switches() == before
    assert [path.name for path in folder.iterdir() if path.name != "server.log"] == []


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_death_under_load_leaves_the_machine_as_it_was(victim: str, tmp_path: Path) -> None:
    one_death(victim, None, tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_a_death_at_any_moment_leaves_the_machine_as_it_was(seed: int, tmp_path: Path) -> None:
    one_death(VICTIMS[seed % 4], random.Random(seed).uniform(0, LONGEST_S), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_deaths_leave_the_machine_as_it_was(seed: int, tmp_path: Path) -> None:
    one_death(VICTIMS[seed % 4], random.Random(seed).uniform(0, LONGEST_S), tmp_path)
