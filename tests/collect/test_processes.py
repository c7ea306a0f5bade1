"""Processes of one side, however many they are."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.process import COLLECTOR
from dbdyno.guard.family import family_of
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

SWITCHES = 100
THREADS = f"""
import sys, threading
ended, slept = threading.Event(), threading.Barrier(5)
def work():
    for _ in range({SWITCHES}):
        threading.Event().wait(0.0001)
    slept.wait()
    ended.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
sys.stdin.readline()
for each in threads:
    each.start()
slept.wait()
print(flush=True)
sys.stdin.readline()
ended.set()
for each in threads:
    each.join()
print(flush=True)
sys.stdin.read()
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


def test_a_server_seen_before_it_was_ours_is_found_with_its_children() -> None:
    with parent() as second:
        second.fork(2)
        with parent() as first:
            current = [first]
            watched = Watched(kind="postgresql", server_pids=lambda: current[0].family())
            readings = COLLECTOR.open(watched)
            assert not isinstance(readings, Missing | None)
            assert [of_server(readings)["processes"] for _ in range(2)] == [1, 1]
        current[0] = second
        second.fork(1)
        assert [of_server(readings)["processes"] for _ in range(2)] == [4, 4]
        second.fork(1)
        assert of_server(readings)["processes"] == 5


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


def test_what_ended_threads_did_stays_in_the_sum() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        given, told = process.stdin, process.stdout
        assert given is not None and told is not None

        def say(word: str) -> None:
            given.write(f"{word}\n")
            given.flush()
            told.readline()

        found = COLLECTOR.open(Watched(server_pids=lambda: [process.pid]))
        assert found is not None and not isinstance(found, Missing)
        say("begin")
        during = of_server(found)
        say("end")
        tasks, deadline = Path(f"/proc/{process.pid}/task"), time.monotonic() + 10
        while len(list(tasks.iterdir())) > 1 and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        after = of_server(found)
        given.close()

    assert (during["threads"], after["threads"]) == (5, 1)
    assert during["voluntary_switches"] > 4 * SWITCHES
    assert after["voluntary_switches"] >= during["voluntary_switches"]


NAMED = """
import pathlib, sys, threading, time
spun, ended = threading.Barrier(3), threading.Event()
used = []
def work(name):
    pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)
    while time.thread_time() < 0.5:
        pass
    used.append(time.thread_time())
    spun.wait()
    ended.wait()
for number in range(2):
    threading.Thread(target=work, args=(f"worker-{number}",), daemon=True).start()
spun.wait()
print(sum(used), flush=True)
for number in range(int(sys.stdin.readline())):
    threading.Thread(target=ended.wait, daemon=True).start()
print(flush=True)
sys.stdin.read()
"""


def test_threads_of_one_name_are_one_account_until_there_are_too_many() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        given, told = process.stdin, process.stdout
        assert given is not None and told is not None
        used_s = float(told.readline())
        readings = COLLECTOR.open(Watched(server_pids=lambda: [process.pid]))
        assert readings is not None and not isinstance(readings, Missing)
        few = {one.instance: one.value for one in readings.sample() if one.metric == "thread_s"}
        given.write("100\n")
        given.flush()
        told.readline()
        many = [one for one in readings.sample() if one.metric == "thread_s"]
        given.close()

    # The kernel shows whole hundredths of a second, of user and kernel each.
    assert few["worker"] == pytest.approx(used_s, abs=0.04)
    assert len(few) == 2
    assert many == []


@pytest.mark.parametrize("pids", [(), (1 << 30,)])
def test_nobody_there_is_nothing_told(pids: Sequence[int]) -> None:
    found = COLLECTOR.open(Watched(server_pids=lambda: pids))
    assert found is not None
    assert not isinstance(found, Missing)
    assert {one.instance for one in found.sample()} == {"client"}
