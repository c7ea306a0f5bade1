"""Every block a dot: one figure against the deciding one."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, write_study
from test_sampled import SHORT, rate, sampled

from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.charts import charts
from dbdyno.report.material.gather import gather

ASKED = SHORT + '\n[[chart]]\nkind = "scatter"\nmetric = "mysql.syncs"\n'


def test_each_block_of_each_cell_has_both_figures(tmp_path: Path) -> None:
    analysis = analyse(gather(write_study(tmp_path, ASKED, World(rate, samples=sampled)), "study"))

    (chart,) = (one for one in charts(analysis) if one.name == "scatter-mysql-syncs")

    assert len(chart.rows) == sum(len(point.blocks) for point in analysis.points) == 12
    assert [row["value"] for row in chart.rows] == pytest.approx([400] * 12)
    for point in analysis.points:
        for block, value in point.values("throughput").items():
            row = next(r for r in chart.rows if (r["cell"], r["block"]) == (point.label, block))
            assert row["decides"] == value
    assert chart.title == "Throughput against mysql.syncs"
