"""The share of events that took no longer, over the time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import vl_convert
from made_up_runs import World, page_of, write_study
from test_sampled import SHORT, rate

from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.charts import Chart, charts
from dbdyno.report.material.gather import gather
from dbdyno.report.page.paper import VEGA_LITE
from dbdyno.stats import percentile

ASKED = SHORT.replace("blocks = 3", "blocks = 1") + '\n[[chart]]\nkind = "distribution"\n'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("distribution"), ASKED, World(rate))


@pytest.fixture(scope="module")
def analysis(store: Path) -> Analysis:
    return analyse(gather(store, "study"))


@pytest.fixture(scope="module")
def chart(analysis: Analysis) -> Chart:
    (found,) = (one for one in charts(analysis) if one.name == "distribution")
    return found


def test_every_cell_has_a_curve_from_its_histogram(analysis: Analysis, chart: Chart) -> None:
    for point in analysis.points:
        curve = {row["rank"]: row["ms"] for row in chart.rows if row["cell"] == point.label}
        assert len(curve) == 106
        assert curve[50.0] == percentile(point.histogram, 50) / 1e6
        assert list(curve) == sorted(float(str(rank)) for rank in curve)
        assert list(curve.values()) == sorted(float(str(ms)) for ms in curve.values())


def test_the_same_stands_in_a_table(analysis: Analysis, chart: Chart) -> None:
    table = chart.table
    assert table is not None
    assert [column.name for column in table.columns][2:4] == ["p1_us", "p10_us"]
    for point, row in zip(analysis.points, table.values, strict=True):
        assert row[5] == percentile(point.histogram, 50) / 1e3


def test_it_stands_with_the_response_times(store: Path) -> None:
    _, times = page_of(store).split("<h2>Response time</h2>")
    section, _ = times.split("<h2>Second by second</h2>")

    assert 'data-chart="distribution"' in section
    assert "Distribution of response times, merged over blocks" in section


def test_its_picture_can_be_drawn(chart: Chart) -> None:
    picture = json.dumps(chart.picture(), allow_nan=False)
    assert "</svg>" in vl_convert.vegalite_to_svg(picture, vl_version=VEGA_LITE)
