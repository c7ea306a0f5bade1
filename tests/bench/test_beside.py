"""`bench.beside`: busy processes come and go beside a command, and none outlives it."""

from __future__ import annotations

import os
import select
import signal
import statistics
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from bench.beside import spans

ROOT = Path(__file__).parents[2]
DEADLINE_MS = 60_000

# Waits until it sees two siblings, prints their ids, and then goes on or ends.
SEES_TWO = """
import os
parent = os.getppid()
while True:
    with open(f"/proc/{parent}/task/{parent}/children") as file:
        others = [one for one in map(int, file.read().split()) if one != os.getpid()]
    if len(others) == 2:
        break
print(*others, flush=True)
"""
STAYS = SEES_TWO + "input()\n"


def beside(code: str) -> subprocess.Popen[str]:
    spans = ("--busy", "1000", "--idle", "0.001", "--seed", "7")
    command = [sys.executable, "-m", "bench.beside", *spans, "--", sys.executable, "-c", code]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def first_line(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    return [int(one) for one in process.stdout.readline().split()]


def await_end(ids: list[int]) -> None:
    """Of processes that are not ours; one that has ended already is gone from the table."""
    for one in ids:
        try:
            watched = os.pidfd_open(one)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(watched, select.POLLIN)
            assert poll.poll(DEADLINE_MS), f"process {one} goes on"
        finally:
            os.close(watched)


def test_spans_follow_from_the_seed_and_have_the_means_asked_for() -> None:
    drawn = list(islice(spans(7, 0, 30.0, 10.0), 20_000))

    assert drawn == list(islice(spans(7, 0, 30.0, 10.0), 20_000))
    assert drawn[:4] != list(islice(spans(7, 1, 30.0, 10.0), 4))
    assert statistics.fmean(drawn[0::2]) == pytest.approx(10.0, rel=0.05)
    assert statistics.fmean(drawn[1::2]) == pytest.approx(30.0, rel=0.05)


def test_busy_processes_are_there_beside_the_command_and_end_with_it() -> None:
    with beside(f"{SEES_TWO}\nraise SystemExit(3)") as process:
        ids = first_line(process)
        told = process.communicate()[1]

    assert process.returncode == 3
    assert len(ids) == 2
    await_end(ids)
    assert told.startswith("beside it: 2 busy processes, seed 7\nthey were busy ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_busy_processes_end_however_it_is_ended(number: signal.Signals) -> None:
    with beside(STAYS) as process:
        ids = first_line(process)
        process.send_signal(number)
        process.wait()  # its input stays open: at the end of that, the command ends by itself

    assert process.returncode == (143 if number is signal.SIGTERM else -number)
    assert len(ids) == 2
    await_end(ids)


def test_a_command_that_is_not_there_is_an_error_of_usage() -> None:
    command = [sys.executable, "-m", "bench.beside", "--", "no-such-program"]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert ended.returncode == 2
    assert "error: no-such-program can't be run" in ended.stderr
