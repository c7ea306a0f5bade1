"""The real engine in turns: engines side by side, each turn in its place."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import EngineInTurns, find_engine, open_turns
from dbdyno.engine.process import Call
from dbdyno.errors import InterruptedRunError, ScriptError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import Counters, Hello, Interval, Record, Turn

AHEAD_NS = 60_000_000
EMPTY = "function event() end"


def spec(folder: Path, text: str = EMPTY, **changes: Any) -> dict[str, Any]:
    script = folder / "work.lua"
    script.write_text(text)
    return {
        "schema": SCHEMA,
        "target": {"driver": "null"},
        "groups": [{"name": "main", "script": str(script), "clients": 6}],
        "warm_up_s": 3.0,
        "measure_s": 60.0,
        "interval_s": 0.1,
        "seed": 5,
        **changes,
    }


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None


def soon() -> int:
    return time.time_ns() + AHEAD_NS


def sums(parts: list[Counters]) -> Mapping[str, int]:
    return {each.name: sum(getattr(p, each.name) for p in parts) for each in fields(Counters)}


@pytest.mark.parametrize("processes", [1, 3])
def test_two_engines_take_turns(tmp_path: Path, processes: int) -> None:
    seen: list[Record] = []

    def listen(_line: bytes, record: Record, _call: Call) -> None:
        seen.append(record)

    with ExitStack() as stack:
        engines: list[EngineInTurns] = []
        for name in ("a", "b"):
            folder = tmp_path / name
            folder.mkdir()
            opened = open_turns(
                find_engine(),
                spec(folder),
                listener=listen if name == "a" else ignore,
                log=folder / "engine.log",
                processes=processes,
                keep=folder / "step-0",
            )
            engines.append(stack.enter_context(opened))
        for engine in engines:
            engine.ready()
        order = [0, 1, 1, 0]
        turns = [(which, engines[which].turn(soon(), 0.1, 0.2)) for which in order]
        outcomes = [engine.end() for engine in engines]

    for which, outcome in enumerate(outcomes):
        own = [turn for number, turn in turns if number == which]
        assert outcome.failure is None and outcome.summary is not None
        assert outcome.summary.measured == Counters(**sums([turn.measured for turn in own]))
        length_s = sum(turn.window_s for turn in own)
        assert outcome.summary.window_s == pytest.approx(length_s)
        assert [turn.index for turn in own] == [0, 1]
        assert all(turn.clients == 6 and not turn.interrupted for turn in own)
        assert all(turn.window_s >= 0.2 for turn in own)
        assert all(turn.measured.events > 0 for turn in own)
        assert all(turn.total.begun == turn.total.events for turn in own)
    intervals = [record for record in seen if isinstance(record, Interval)]
    assert [each.index for each in intervals] == list(range(len(intervals)))
    for turn in (turn for number, turn in turns if number == 0):
        of_turn = [each.counters for each in intervals if each.turn == turn.index]
        assert turn.total == Counters(**sums(of_turn))
    assert sum(isinstance(record, Turn) for record in seen) == 2
    assert sum(isinstance(record, Hello) for record in seen) == 1


def test_a_script_that_fails_ends_its_load_with_the_reason(tmp_path: Path) -> None:
    text = "function event() error('no more') end"
    with open_turns(
        find_engine(), spec(tmp_path, text), listener=ignore, log=tmp_path / "log"
    ) as engine:
        engine.ready()
        with pytest.raises(ScriptError, match="no more"):
            engine.turn(soon(), 0.0, 0.2)
        assert isinstance(engine.end().failure, ScriptError)


@pytest.mark.parametrize("in_turn", [False, True])
def test_a_signal_reaches_all_engines_and_what_was_measured_stays(
    tmp_path: Path, in_turn: bool
) -> None:
    def interrupt(_line: bytes, record: Record, _call: Call) -> None:
        is_first = isinstance(record, Interval) and record.turn == 1 and not told
        if is_first:
            told.append(record)
            os.kill(os.getpid(), signal.SIGINT)

    told: list[Record] = []
    before = signal.getsignal(signal.SIGINT)
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(
                open_turns(find_engine(), spec(tmp_path), listener=listener, log=tmp_path / "log")
            )
            for listener in (interrupt, ignore)
        )
        for engine in (one, other):
            engine.ready()
            engine.turn(soon(), 0.0, 0.1)
        if in_turn:
            assert one.turn(soon(), 0.0, 60.0).interrupted
        else:
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(InterruptedRunError):
            other.turn(soon(), 0.0, 0.1)
        for engine in (one, other):
            outcome = engine.end()
            assert outcome.interrupted and outcome.failure is None
            assert outcome.summary is not None and outcome.summary.measured.events > 0
    assert signal.getsignal(signal.SIGINT) is before


def test_an_engine_that_is_left_leaves_no_engine_behind(tmp_path: Path) -> None:
    pids: list[int] = []

    def listen(_line: bytes, record: Record, _call: Call) -> None:
        if isinstance(record, Hello):
            pids.append(record.pid)

    with open_turns(find_engine(), spec(tmp_path), listener=listen, log=tmp_path / "log") as engine:
        engine.ready()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
