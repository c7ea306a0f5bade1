"""Shards bound to processors: what the kernel says of their threads while they run."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import find_engine, plan_engine, run_engine
from dbdyno.engine.process import Call
from dbdyno.errors import UsageError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import Hello, Interval, Record

ALL = sorted(os.sched_getaffinity(0))


def spec(script: Path, **changes: Any) -> dict[str, Any]:
    script.write_text("function event() end")
    group = {"script": str(script), "clients": 8}
    limits = {"measure_s": 60.0, "interval_s": 0.1}
    target = {"driver": "null"}
    return {"schema": SCHEMA, "target": target, "groups": [group], **limits, **changes}


def processors(pid: int) -> list[tuple[str, list[int]]]:
    """Each thread's name and the processors it may use, as the kernel lists them."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # ended meanwhile
            name = (task / "comm").read_text().strip()
            found.append((name, sorted(os.sched_getaffinity(int(task.name)))))
    return found


@pytest.mark.parametrize(
    ("bind", "shards", "processes"),
    [("each", 2, 1), ("each", 3, 1), ("each", 1, 2), ("none", 2, 1)],
)
def test_each_shard_stays_on_a_processor_and_all_are_used(
    tmp_path: Path, bind: str, shards: int, processes: int
) -> None:
    whole = spec(tmp_path / "work.lua", bind=bind, shards=shards)
    hellos: list[Hello] = []
    threads: list[tuple[str, list[int]]] = []

    def listen(_line: bytes, record: Record, call: Call) -> None:
        if isinstance(record, Hello):
            hellos.append(record)
        if isinstance(record, Interval) and not threads:
            threads.extend(thread for pid in call.pids for thread in processors(pid))
            call.stop()

    plan = plan_engine(find_engine(), whole, processes=processes)
    outcome = run_engine(
        find_engine(), whole, listener=listen, log=tmp_path / "log", processes=processes
    )

    assert outcome.failure is None, outcome.failure
    is_bound = bind == "each"
    assert hellos[0].shards_bound == plan.shards_bound == is_bound
    of_shards = [allowed for name, allowed in threads if name.startswith("shard ")]
    assert len(of_shards) == hellos[0].shards == shards * processes
    if is_bound:
        counts = Counter(processor for (processor,) in of_shards)
        assert len(counts) == min(len(ALL), len(of_shards)), "none is idle while another has two"
        assert max(counts.values()) - min(counts.values()) <= 1
    else:
        assert of_shards == [ALL] * len(of_shards)
    others = [allowed for name, allowed in threads if not name.startswith("shard ")]
    assert others == [ALL] * len(others), "whatever else the engine does has all processors"


def test_filling_tables_binds_nobody(tmp_path: Path) -> None:
    for command, is_bound in (("run", True), ("prepare", False)):
        whole = spec(tmp_path / "work.lua", bind="each", command=command)
        assert plan_engine(find_engine(), whole).shards_bound == is_bound


def test_a_word_that_is_none_of_the_field_s_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown variant `all`, expected one of `auto`, `none`"):
        plan_engine(find_engine(), spec(tmp_path / "work.lua", bind="all"))
