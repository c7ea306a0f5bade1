"""Curves over clients in a report: a row and a line a cell, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.charts import charts
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables

LOADS = SMALL.replace('"30 s"', '"10 s"').replace('"5 s"', '"2 s"')


def rate(run: PlannedRun, step: Step, second: int) -> float:
    """Busy with four clients; blocks differ by a percent."""
    return (1 + 0.01 * (run.block % 3)) * 100 * min(step.clients, 4)


def store(folder: Path, loads: str) -> Path:
    return write_study(folder, LOADS.replace("[1, 4]", loads), World(rate))


def told(folder: Path, loads: str) -> Analysis:
    return analyse(gather(store(folder, loads), "study"))


def test_a_plateau_is_told_with_its_height(tmp_path: Path) -> None:
    analysis = told(tmp_path, "[1, 2, 4, 8, 16, 32]")
    table = next(table for table in tables(analysis) if table.name == "scaling")
    by_name = [column.name for column in table.columns]

    for row in table.values:
        assert row[by_name.index("curve")] == "plateau"
        value = row[by_name.index("peak_rate")]
        assert isinstance(value, tuple)
        assert value[0] == pytest.approx(404, rel=0.02)
        knee = row[by_name.index("knee_clients")]
        assert isinstance(knee, tuple)
        assert knee[0] == pytest.approx(4, rel=0.02)
    (chart,) = [chart for chart in charts(analysis) if chart.name == "scaling"]
    assert {row["what"] for row in chart.rows} == {"block", "curve", "straight"}


def test_too_few_loads_have_neither_table_nor_chart(tmp_path: Path) -> None:
    analysis = told(tmp_path, "[1, 2, 4, 8, 16]")

    assert "scaling" not in [table.name for table in tables(analysis)]
    assert "scaling" not in [chart.name for chart in charts(analysis)]


def test_a_cell_without_a_curve_says_why(tmp_path: Path) -> None:
    assert "no load of one client" in page_of(store(tmp_path, "[2, 3, 4, 8, 16, 32]"))
