"""Whether runs were measured on the same data, as their report tells it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, TableFill
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather

SHORT = SMALL.replace('"30 s"', '"6 s"').replace('"5 s"', '"1 s"')


def data_gate(folder: Path, loads: Callable[[PlannedRun], tuple[TableFill, ...]]) -> Gate:
    """Every cell's journal mode `delete` has an option of its own."""
    text = SHORT.replace('"delete" } }', '"delete" }, options = { values = 2 } }')
    store = write_study(folder, text, World(lambda *_: 100.0, loads=loads))
    (gate,) = (g for g in gates(analyse(gather(store, "study"))) if g.name == "Data")
    assert ("Tables as they were loaded" in page_of(store)) == (gate.state != "not judged")
    return gate


FINE = TableFill("prepare", "t1", 100, 100, "00000000000000aa", 0.1)
OTHER = TableFill("prepare", "t2", None, 7, "00000000000000aa", 0.1)


@pytest.mark.parametrize(
    ("loads", "state", "says"),
    [
        ({}, "not judged", "No table was looked at"),
        ({1: FINE}, "ok", "made the same rows in all"),
        ({1: TableFill("prepare", "t1", 100, 100)}, "ok", "contents were not compared"),
        (
            {1: FINE, 2: TableFill("prepare", "t1", 100, 100, "00000000000000ab", 0.1)},
            "failed",
            "`t1` differs between runs with the same seed, script and options: 100 rows, "
            "00000000000000aa in b1-",
        ),
        (
            {1: TableFill("prepare", "t1", 100, 99, "0a", 0.1)},
            "failed",
            "`t1` has 99 rows, 100 were sent",
        ),
        (
            {1: TableFill("prepare", "t1", 100, 101, "0a", 0.1)},
            "doubtful",
            "`t1` has 101 rows, 100 were sent",
        ),
        ({1: OTHER}, "ok", "12 tables that no bulk insert filled were looked at; the same seed"),
        (
            {1: OTHER, 2: TableFill("prepare", "t2", None, 7, "00000000000000ab", 0.1)},
            "doubtful",
            "`t2` differs between runs with the same seed, script and options: 7 rows, ",
        ),
        (
            {1: TableFill("prepare", "t1", 100, problem="permission denied")},
            "doubtful",
            "ermission denied",
        ),
    ],
)
def test_data_that_differs_fails_its_gate(
    tmp_path: Path, loads: dict[int, TableFill], state: str, says: str
) -> None:
    def loaded(run: PlannedRun) -> tuple[TableFill, ...]:
        """By block; the last one's in those that come after."""
        return (loads[min(run.block, max(loads))],) if loads else ()

    gate = data_gate(tmp_path, loaded)
    assert (gate.state, says in gate.text) == (state, True), gate.text


def test_other_options_may_make_other_rows(tmp_path: Path) -> None:
    other = TableFill("prepare", "t1", 100, 100, "00000000000000ab", 0.1)
    gate = data_gate(tmp_path, lambda run: (other if run.cell.options else FINE,))
    assert gate.state == "ok", gate.text
