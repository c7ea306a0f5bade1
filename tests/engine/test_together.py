"""The real engine in several processes: one run to whoever listens."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard

from dbdyno.engine import Outcome, find_engine, run_engine
from dbdyno.engine.process import Call, send
from dbdyno.engine.together import Together
from dbdyno.errors import EngineError, ScriptError
from dbdyno.formats.records import parse_record
from dbdyno.model import Hello, Interval, Output, Record, Summary
from dbdyno.places.local import LocalProcess

SCRIPT = """\
function thread_init(id) print(id, sysbench.opt.threads) end
function event() end
"""
KEYS_A_CLIENT = 250
KEYS = f"""\
local ffi = require("ffi")
function event() end
function thread_run(id)
  local keys = {{}}
  while #keys < {KEYS_A_CLIENT} and ffi.C.sb_more_events(id) do
    ffi.C.sb_event_start(id)
    keys[#keys + 1] = sysbench.rand.zipfian(1, 100)
    ffi.C.sb_event_stop(id)
  end
  print(id .. " " .. table.concat(keys, " "))
end
"""
"""Each client prints its number and the keys it drew."""
RATE = 1000.0
WINDOW_S = 0.6


def spec(folder: Path, text: str = SCRIPT, **changes: Any) -> dict[str, Any]:
    script = folder / "work.lua"
    script.write_text(text)
    group = {
        "name": "main",
        "script": str(script),
        "clients": 7,
        "arrival": {"kind": "constant", "rate_per_s": RATE},
    }
    return {
        "schema": 2,
        "target": {"driver": "null"},
        "groups": [group],
        "warm_up_s": 0.2,
        "measure_s": WINDOW_S,
        "interval_s": 0.2,
        "seed": 5,
        **changes,
    }


def run(
    folder: Path,
    whole: dict[str, Any],
    act: Callable[[Record, Call], None] | None = None,
    *,
    processes: int = 3,
) -> tuple[Outcome, list[Record]]:
    seen: list[Record] = []

    def listen(_line: bytes, record: Record, call: Call) -> None:
        seen.append(record)
        if act is not None:
            act(record, call)

    outcome = run_engine(
        find_engine(),
        whole,
        listener=listen,
        log=folder / "engine.log",
        processes=processes,
        keep=folder / "step-0",
    )
    return outcome, seen


def own_records(folder: Path, index: int) -> list[dict[str, Any]]:
    packed = (folder / f"step-0-part-{index}.ndjson.zst").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as stream:
        return [json.loads(line) for line in stream.read().splitlines()]


def test_three_processes_are_one_run(tmp_path: Path) -> None:
    outcome, seen = run(tmp_path, spec(tmp_path))

    assert outcome.failure is None and not outcome.interrupted
    assert outcome.summary is not None
    printed = sorted(record.text for record in seen if isinstance(record, Output))
    assert printed == [f"{number}\t7" for number in range(7)]
    intervals = [record for record in seen if isinstance(record, Interval)]
    due = RATE * (0.2 + WINDOW_S) + 1
    assert sum(each.counters.events for each in intervals) == outcome.summary.total.events
    assert outcome.summary.total.events + intervals[-1].backlog == due, "none lost, none twice"
    assert max(each.clients for each in intervals) == outcome.summary.clients == 7
    measured = [each for each in intervals if each.phase == "measure"]
    assert sum(each.counters.events for each in measured) == outcome.summary.measured.events
    # One after the other they would take three times as long.
    assert WINDOW_S <= outcome.summary.window_s < 2 * WINDOW_S

    own = [own_records(tmp_path, index) for index in range(3)]
    assert len({records[0]["pid"] for records in own}) == 3
    totals = [records[-1]["total"]["events"] for records in own]
    assert sum(totals) == outcome.summary.total.events
    assert min(totals) > 0
    counted = sum(h.count for h in outcome.summary.histograms if h.time == "response")
    # What was due in the window, whether it ended there or, on a busy machine, later.
    assert counted == RATE * WINDOW_S


def test_a_fatal_error_in_one_ends_all(tmp_path: Path) -> None:
    text = "function thread_init(id) if id == 1 then error('not I') end end function event() end"
    outcome, _ = run(tmp_path, spec(tmp_path, text, measure_s=60.0))

    assert isinstance(outcome.failure, ScriptError)
    assert "not I" in outcome.failure.message


def test_a_process_that_dies_ends_all_and_what_was_measured_stays(tmp_path: Path) -> None:
    pids: list[int] = []

    def act(record: Record, _call: Call) -> None:
        if isinstance(record, Hello):
            pids.append(record.pid)
        elif isinstance(record, Interval) and record.phase == "measure" and pids:
            os.kill(pids.pop(), signal.SIGKILL)

    outcome, _ = run(tmp_path, spec(tmp_path, measure_s=60.0), act)

    assert isinstance(outcome.failure, EngineError)
    assert "SIGKILL" in outcome.failure.message
    assert outcome.summary is not None
    assert outcome.summary.interrupted


def test_events_are_divided(tmp_path: Path) -> None:
    whole = spec(tmp_path, warm_up_s=0.3, measure_s=None, events=100)
    whole["groups"][0]["arrival"] = {"kind": "closed"}
    outcome, _ = run(tmp_path, whole)

    assert outcome.failure is None and outcome.summary is not None
    assert outcome.summary.measured.events == 100


def test_clients_draw_the_same_keys_however_they_are_divided(tmp_path: Path) -> None:
    clients, events = 8, 8 * KEYS_A_CLIENT
    drawn = {}
    for processes, shards in ((1, 4), (4, 1), (2, 2)):
        whole = spec(tmp_path, KEYS, warm_up_s=0.0, measure_s=None, events=events, shards=shards)
        whole["groups"][0] |= {"clients": clients, "arrival": {"kind": "closed"}}
        outcome, seen = run(tmp_path, whole, processes=processes)

        assert outcome.failure is None and outcome.summary is not None
        assert outcome.summary.measured.events == events
        drawn[processes, shards] = sorted(r.text for r in seen if isinstance(r, Output))

    first = drawn[1, 4]
    assert len(first) == clients == len({text.partition(" ")[2] for text in first})
    assert all(texts == first for texts in drawn.values())


def test_asked_to_stop_they_all_report(tmp_path: Path) -> None:
    def act(record: Record, call: Call) -> None:
        if isinstance(record, Interval) and record.phase == "measure":
            call.stop()

    outcome, _ = run(tmp_path, spec(tmp_path, measure_s=60.0), act)

    assert outcome.failure is None and outcome.summary is not None
    assert outcome.summary.interrupted
    assert outcome.summary.clients == 7


DRAWS = """\
local drawn = {}
function event()
    if #drawn < 50 then drawn[#drawn + 1] = sysbench.rand.default(1, 1000) end
end
function thread_done(id) print(id, table.concat(drawn, ",")) end
"""


def drawn_by_clients(folder: Path, processes: int, shards: int) -> set[str]:
    """What each client of the run drew first."""
    seen: list[Record] = []
    groups = [{"name": "main", "script": str(folder / "work.lua"), "clients": 8}]
    run_engine(
        find_engine(),
        spec(folder, DRAWS, groups=groups, shards=shards),
        listener=lambda _line, record, _call: seen.append(record),
        log=folder / "engine.log",
        processes=processes,
    )
    return {record.text for record in seen if isinstance(record, Output)}


def test_clients_draw_the_same_however_many_processes_there_are(tmp_path: Path) -> None:
    of_four_shards = drawn_by_clients(tmp_path, processes=1, shards=4)

    assert len(of_four_shards) == 8
    assert all(text.count(",") == 49 for text in of_four_shards)
    assert drawn_by_clients(tmp_path, processes=4, shards=1) == of_four_shards


class Drifting(LocalProcess):
    """An engine whose host's clock is ahead and gains on ours, and what it has printed itself."""

    AHEAD_NS = 50_000_000
    ONE_IN = 1000

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(process)
        self.printed: list[dict[str, Any]] = []

    def lines(self) -> Iterator[bytes]:
        for line in super().lines():
            self.printed.append(json.loads(line))
            yield line

    def ahead_ns(self) -> int:
        return self.AHEAD_NS

    def gained_ns(self, over_ns: int) -> int:
        return over_ns // self.ONE_IN


def test_times_are_ours_where_a_clock_is_ahead_and_gains(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([find_engine().path, "run", "-"], stdin=pipe, stdout=pipe) as engine:
        process, seen = Drifting(engine), []
        send(process, spec(tmp_path), more=False)
        for line, record in Together([process], None).records(process.kill):
            assert parse_record(line, number=1) == record
            seen.append(record)

    assert len(seen) == len(process.printed)
    for own, ours in zip(process.printed, seen, strict=True):
        if isinstance(ours, Hello):
            assert ours.start_unix_ns == own["start_unix_ns"] - Drifting.AHEAD_NS
        elif isinstance(ours, Interval | Summary):
            for key in ("start_ns", "end_ns"):
                assert getattr(ours, key) == own[key] - own[key] // Drifting.ONE_IN
            assert own["end_ns"] > Drifting.ONE_IN
    assert isinstance(seen[0], Hello) and isinstance(seen[-1], Summary)
