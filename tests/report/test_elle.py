"""Histories for Elle, read back: what was written, answered, read and broken, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.cli import call
from dbdyno.model import PlannedRun, Step
from dbdyno.model.fault import FaultResult
from dbdyno.report.page.elle import Written, history

FIRST, SECOND = 1_000_000_000, 2_000_000_000
ROWS = (
    Written(FIRST, 10, 20, found=True),
    Written(FIRST + 1, 30, None, found=False),
    Written(FIRST + 2, 50, 60, found=True),
    Written(SECOND, 15, 35, found=False),
)
KILLED = FaultResult(40, "kill", "node-1", 45)


def read(text: str) -> list[Mapping[str, Any]]:
    """EDN of this kind as JSON: keywords become texts, `nil` null."""
    lines = []
    for line in text.splitlines():
        json_like = re.sub(r":([\w-]+) ", r'"\1": ', line)
        json_like = re.sub(r": :([\w-]+)", r': "\1"', json_like)
        json_like = re.sub(r'\["?:?([wr])"?:? ', r'["\1", ', json_like).replace("nil", "null")
        json_like = re.sub(r"(\d) (?=[\dn])", r"\1, ", json_like).replace("] [", "], [")
        lines.append(json.loads(json_like))
    return lines


def test_a_history_has_every_write_fault_and_read_in_order() -> None:
    operations = read(history(ROWS, [KILLED]))

    assert [o["index"] for o in operations] == list(range(len(operations)))
    times = [o["time"] for o in operations]
    assert times == sorted(times)
    assert [(o["type"], o["process"], o["value"]) for o in operations[:-2]] == [
        ("invoke", 0, [["w", FIRST, 1]]),
        ("invoke", 1, [["w", SECOND, 1]]),
        ("ok", 0, [["w", FIRST, 1]]),
        ("invoke", 0, [["w", FIRST + 1, 1]]),
        ("ok", 1, [["w", SECOND, 1]]),
        ("info", "nemesis", "node-1"),
        ("info", "nemesis", "node-1"),
        ("info", 0, [["w", FIRST + 1, 1]]),
        ("invoke", 2, [["w", FIRST + 2, 1]]),
        ("ok", 2, [["w", FIRST + 2, 1]]),
    ]
    assert [o["f"] for o in operations if o["process"] == "nemesis"] == ["kill", "kill-is-over"]
    invoked, answered = operations[-2:]
    assert invoked["process"] == answered["process"] not in (0, 1, 2)
    assert [value for _, _, value in invoked["value"]] == [None] * 4
    # The last was acknowledged and is gone: a read before a write that had ended.
    assert [value for _, _, value in answered["value"]] == [1, None, 1, None]


def test_a_process_has_one_operation_at_a_time() -> None:
    going: dict[int, object] = {}
    for operation in read(history(ROWS, [])):
        process = operation["process"]
        if operation["type"] == "invoke":
            assert process not in going
            going[process] = [mop[:2] for mop in operation["value"]]
        else:
            assert going.pop(process) == [mop[:2] for mop in operation["value"]]
            if operation["type"] == "info":
                going[process] = "ended"
    assert set(going.values()) == {"ended"}


def test_a_study_without_a_ledger_has_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rate(run: PlannedRun, step: Step, second: int) -> float:
        return 100.0

    short = SMALL.replace('"30 s"', '"4 s"').replace('"5 s"', '"1 s"')
    store = write_study(tmp_path, short, World(rate), name="small-one")

    assert call(["export", "small-one", "--format", "elle", "--store", str(store)]) == 2
    assert "has a ledger" in capsys.readouterr().err
