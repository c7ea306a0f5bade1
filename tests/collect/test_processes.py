"""Processes of one side, however many they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.process import COLLECTOR
from dbdyno.guard.guard import family_of
from dbdyno.model import Missing

SCENE = """
import os, sys
for line in sys.stdin:
    for _ in range(int(line)):
        if os.fork() == 0:
            os.read(3, 1)
            raise SystemExit
    print(flush=True)
"""


class Parent:
    """A process that makes others when told to; they end with it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def fork(self, count: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{count}\n".encode())
        self.process.stdin.flush()
        self.process.stdout.readline()

    def family(self) -> Sequence[int]:
        return family_of(self.process.pid)


@contextmanager
def parent() -> Iterator[Parent]:
    ours, theirs = os.pipe()
    reading = f"import os; os.dup2({ours}, 3)" if ours != 3 else ""
    with subprocess.Popen(
        [sys.executable, "-c", f"{reading}\n{SCENE}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(ours,),
    ) as process:
        os.close(ours)
        try:
            yield Parent(process)
        finally:
            os.close(theirs)
            assert process.stdin is not None
            process.stdin.close()


def opened(server: Parent) -> Readings:
    found = COLLECTOR.open(Watched(kind="postgresql", server_pids=server.family))
    assert found is not None
    assert not isinstance(found, Missing)
    return found


def of_server(readings: Readings) -> dict[str, float]:
    return {one.metric: one.value for one in readings.sample() if one.instance == "server"}


def test_processes_made_since_are_counted_without_being_looked_for() -> None:
    with parent() as server:
        readings = opened(server)
        before = of_server(readings)
        server.fork(3)
        after = of_server(readings)

    assert (before["processes"], after["processes"]) == (1, 4)
    assert after["voluntary_switches"] > before["voluntary_switches"]


def test_of_hundreds_only_processor_time_and_memory_are_read_from_then_on() -> None:
    with parent() as server:
        readings = opened(server)
        few = of_server(readings)
        server.fork(220)
        many = of_server(readings)

    assert many["processes"] == 221
    assert many["resident_bytes"] > few["resident_bytes"]
    assert set(few) - set(many) == {
        "voluntary_switches",
        "involuntary_switches",
        "read_bytes",
        "written_bytes",
    }


@pytest.mark.parametrize("pids", [(), (1 << 30,)])
def test_nobody_there_is_nothing_told(pids: Sequence[int]) -> None:
    found = COLLECTOR.open(Watched(server_pids=lambda: pids))
    assert found is not None
    assert not isinstance(found, Missing)
    assert {one.instance for one in found.sample()} == {"client"}
