"""No outside program outlives what started it, nor does a process that the program made."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.collect import Watched
from dbdyno.collect.sources.process import COLLECTOR
from dbdyno.errors import LabError, ScriptError
from dbdyno.generators.generator import call
from dbdyno.guard import guarded
from dbdyno.guard.family import children_of, family_of
from dbdyno.model import Missing
from traces import LIMIT_S, descendants, nothing_left, wait_until_gone

HOLD = Path(__file__).with_name("hold_tool.py")
PACKAGE = Path(guarded.__file__).parents[2]

JOB = """\
[readers]
directory=${DIRECTORY}
size=1m
time_based=1
runtime=${RUNTIME}
thinktime=10ms
rw=randread
ioengine=psync
numjobs=${CLIENTS}
"""
SCRIPT = """\
#!/bin/sh
sleep 600 &
setsid sh -c 'sleep 600 & wait' &
wait
"""
"""Leaves its session with a part of what it starts, as fio's jobs do."""


class Tool:
    """A generator's step: lab, guard, keeper, program and what that made."""

    def __init__(self, lab: subprocess.Popen[bytes], name: str, made: int) -> None:
        self.lab = lab
        deadline = time.monotonic() + LIMIT_S
        while len(self._named(name)) < made:
            assert lab.poll() is None, "the step has ended"
            assert time.monotonic() < deadline, "the program made no processes"
            select.select([], [], [], 0.01)
        self.below: Sequence[int] = descendants(lab.pid)[1:]
        self.guard, self.keeper, self.program, *_ = self.below

    def _named(self, name: str) -> Sequence[int]:
        return [pid for pid in descendants(self.lab.pid) if is_named(pid, name)]

    def kill(self, *victims: int) -> None:
        """All at once, as the out-of-memory killer doesn't: none may act on another's death."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):  # Its parent was quicker.
                    os.kill(pid, number)


def is_named(pid: int, name: str) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == name
    except OSError:
        return False


@contextlib.contextmanager
def running(generator: str, folder: Path, options: Mapping[str, object]) -> Iterator[Tool]:
    for name in ("data", "scratch"):
        (folder / name).mkdir()
    with subprocess.Popen(
        [sys.executable, HOLD, generator, "/usr/bin/fio", folder, json.dumps(options)],
        env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{HOLD.parent}"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as lab:
        try:
            yield Tool(lab, *(("fio", 4) if generator == "fio" else ("sleep", 2)))
        finally:
            lab.kill()


@pytest.fixture(params=["fio", "command"])
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tool]:
    """fio with three jobs, and a script with three processes."""
    (tmp_path / "mix.fio").write_text(JOB)
    script = tmp_path / "load.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    options: Mapping[str, Mapping[str, object]] = {
        "fio": {"jobfile": "mix.fio"},
        "command": {"program": ["./load.sh"], "figures": ["events = #"]},
    }
    with (
        nothing_left(),
        running(request.param, tmp_path, options[request.param]) as running_tool,
    ):
        yield running_tool


@pytest.mark.slow
@pytest.mark.parametrize(
    "victims",
    [
        ("lab",),
        ("guard",),
        ("lab", "guard"),
        ("keeper",),
        ("lab", "keeper"),
        ("program",),
    ],
    ids=" and ".join,
)
def test_whatever_is_killed_the_tool_ends_with_all_it_made(
    tool: Tool, victims: Sequence[str]
) -> None:
    began_s = time.monotonic()
    pids = {"lab": tool.lab.pid, "guard": tool.guard, "keeper": tool.keeper}
    tool.kill(*({**pids, "program": tool.program}[victim] for victim in victims))
    wait_until_gone(tool.below)

    assert time.monotonic() - began_s < 5


@pytest.mark.slow
def test_ctrl_c_ends_the_tool_in_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "mix.fio").write_text(JOB)
    with running("fio", tmp_path, {"jobfile": "mix.fio"}) as tool:
        tool.lab.send_signal(signal.SIGINT)
        wait_until_gone(tool.below)

    assert "terminating on signal 2" in (tmp_path / "scratch" / "stdout").read_text()


def called(folder: Path, script: str, watch: Callable[[int], None] = lambda _: None) -> str:
    job = replace(STEP, scratch=folder, start=replace(STEP.start, watch=watch))
    return call(["sh", "-c", script], job, limit_s=30, environment=os.environ)


def test_output_and_errors_stay_apart(tmp_path: Path) -> None:
    assert called(tmp_path, "echo figures; echo words >&2") == "figures\n"
    assert (tmp_path / "stderr").read_text() == "words\n"
    assert called(tmp_path, "echo again") == "again\n"
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.parametrize(
    ("script", "told"), [("exit 7", "code 7"), ("kill -TERM $$", "signal SIGTERM")]
)
def test_the_keeper_ends_as_the_program_does(script: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=f"sh ended with {told}: it said nothing"):
        called(tmp_path, script)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"none can't be started: .*No such file or directory"):
        call([tmp_path / "none"], replace(STEP, scratch=tmp_path), limit_s=9, environment={})


def test_who_watches_is_told_of_the_program_itself(tmp_path: Path) -> None:
    watched: list[int] = []

    def watch(pid: int) -> None:
        watched.append(pid)
        (tmp_path / "seen").touch()

    script = "until [ -e seen ]; do :; done; echo $$"
    assert called(tmp_path, script, watch=watch) == f"{watched[0]}\n"


@pytest.mark.slow
def test_what_fios_jobs_use_is_counted_as_the_clients(tool: Tool) -> None:
    readings = COLLECTOR.open(Watched(client_pids=lambda: [tool.program]))
    assert readings is not None and not isinstance(readings, Missing)
    found = {one.metric: one.value for one in readings.sample() if one.instance == "client"}

    assert found["processes"] == len(family_of(tool.program)) == 4
    assert children_of(tool.keeper) == [tool.program]
