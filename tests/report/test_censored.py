"""What a report says of events that had not ended at the end of a window."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import open_loop_table

OPEN = (
    SMALL.replace('"30 s"', '"6 s"')
    .replace('"5 s"', '"1 s"')
    .replace("[load]", '[load]\narrival = { kind = "constant", rate = 500 }')
)


def store_with(folder: Path, censored: int) -> Path:
    """Steps of some 3,000 events, 1,800 of which are in the distributions."""
    return write_study(folder, OPEN, World(lambda *_: 500.0, censored=censored))


def analysis_with(folder: Path, censored: int) -> Analysis:
    return analyse(gather(store_with(folder, censored), "study"))


def the_gate(analysis: Analysis) -> Gate | None:
    return {gate.name: gate for gate in gates(analysis)}.get("Censored")


@pytest.mark.parametrize(
    ("censored", "state"),
    [
        pytest.param(1, "ok", id="the p99 depends on one place by less than 10 %"),
        pytest.param(15, "doubtful", id="0.5 % of the events, but the p99 may be the p99.8"),
        pytest.param(100, "doubtful", id="3 % of the events: the p99 has no upper bound"),
    ],
)
def test_events_that_had_not_ended_make_high_percentiles_doubtful(
    tmp_path: Path, censored: int, state: str
) -> None:
    gate = the_gate(analysis_with(tmp_path, censored))

    assert gate is not None
    assert gate.state == state
    assert gate.text.startswith(f"At most {censored} events beside ")


def test_without_censored_events_there_is_no_gate(tmp_path: Path) -> None:
    assert the_gate(analysis_with(tmp_path, 0)) is None


def test_the_report_has_their_number_beside_the_backlog(tmp_path: Path) -> None:
    store = store_with(tmp_path, 15)
    table = open_loop_table(analyse(gather(store, "study")))
    at = [column.name for column in table.columns].index("censored")

    assert [row[at] for row in table.rows] == ["15"] * len(table.rows)
    assert "Not ended at the end" in page_of(store)
