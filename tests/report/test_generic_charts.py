"""Charts that draw whatever metrics a study names."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vl_convert
from made_up_runs import World, page_of, write_study
from test_sampled import SHORT, rate, sampled

from dbdyno.model import PlannedRun, Step, chart_kinds
from dbdyno.report import charts as chart_package
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.charts import Chart, charts
from dbdyno.report.charts.chart import fewer
from dbdyno.report.charts.of_load.busy_by_clients import REACHED, STRAIGHT
from dbdyno.report.material.gather import gather
from dbdyno.report.material.material import RunMaterial, StepSeries
from dbdyno.report.page.paper import VEGA_LITE

ASKED = (
    SHORT
    + """
[[chart]]
kind = "metrics-over-time"
metrics = ["mysql.history_list", "mysql.syncs", "mysql.never_sampled"]

[[chart]]
kind = "bars"
metric = "mysql.syncs"

[[chart]]
kind = "by-load"
metric = "server_switches_per_event"
title = "Switches"

[[chart]]
kind = "bars"
metric = "log_bytes_per_event"
"""
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Chart], Path]:
    folder = tmp_path_factory.mktemp("charts")
    store = write_study(folder, ASKED, World(rate, samples=sampled))
    made = charts(analyse(gather(store, "study")))
    return {chart.name: chart for chart in made}, store


def test_panels_share_one_axis_of_time(drawn: tuple[dict[str, Chart], Path]) -> None:
    chart = drawn[0]["metrics-over-time-mysql-history_list"]
    panels = list(dict.fromkeys(row["panel"] for row in chart.rows))
    assert panels == ["throughput", "p99", "mysql.history_list", "mysql.syncs", "marks"]
    syncs = {row["second"]: row["value"] for row in chart.rows if row["panel"] == "mysql.syncs"}
    assert set(syncs.values()) == {400.0}  # a counter, by second
    # The window begins 2 s after the engine; samples lie 0.3 s behind each second.
    assert min(float(str(second)) for second in syncs) == pytest.approx(-0.7)
    spec = chart.spec
    assert len(spec["vconcat"]) == 5
    assert spec["resolve"] == {"scale": {"x": "shared"}}
    assert "Transactions not purged" in json.dumps(spec)


def test_bars_have_the_interval_and_the_blocks(drawn: tuple[dict[str, Chart], Path]) -> None:
    rows = drawn[0]["bars-mysql-syncs"].rows
    assert len(rows) == 4
    for row in rows:
        assert row["value"] == pytest.approx(400)
        assert row["blocks"] == pytest.approx([400] * 3)


def test_what_nobody_has_sampled_has_no_chart(drawn: tuple[dict[str, Chart], Path]) -> None:
    assert "bars-log_bytes_per_event" not in drawn[0]
    assert drawn[0]["by-load-server_switches_per_event"].title == "Switches"


@pytest.mark.parametrize("kind", ["metrics-over-time", "bars", "by-load"])
def test_their_pictures_can_be_drawn(drawn: tuple[dict[str, Chart], Path], kind: str) -> None:
    chart = next(one for name, one in drawn[0].items() if name.startswith(kind))
    picture = json.dumps(chart.picture(), allow_nan=False)
    assert "</svg>" in vl_convert.vegalite_to_svg(picture, vl_version=VEGA_LITE)


def test_a_picture_over_time_shows_in_each_view_its_own_lines(
    drawn: tuple[dict[str, Chart], Path],
) -> None:
    chart = drawn[0]["throughput-over-time"]
    svg = vl_convert.vegalite_to_svg(json.dumps(chart.picture()), vl_version=VEGA_LITE)
    lines = re.findall(r'aria-roledescription="line mark" d="([^"]*)"', svg)
    views = {row["view"] for row in chart.rows}
    assert len(lines) == 3 * len(views)
    assert {line.count(",") for line in lines} == {len(chart.rows) / len(lines)}


def test_a_picture_of_long_lines_keeps_their_extremes() -> None:
    rows = [{"second": at, "value": 1.0} for at in range(1000)]
    rows[123]["value"], rows[321]["value"], rows[777]["value"] = 9.0, -9.0, 5.0
    kept = fewer(rows, 100)
    assert len(kept) <= 100
    assert {9.0, -9.0, 5.0} < {row["value"] for row in kept}
    assert [row["second"] for row in kept] == sorted(float(str(row["second"])) for row in kept)
    assert fewer(rows[:100], 100) == rows[:100]


def test_the_page_shows_them(drawn: tuple[dict[str, Chart], Path]) -> None:
    page = page_of(drawn[1])
    assert "More figures" in page
    assert 'data-chart="metrics-over-time-mysql-history_list"' in page


def test_busy_processors_stand_beside_throughput_and_a_straight_line(tmp_path: Path) -> None:
    def scaling(run: PlannedRun, step: Step, second: int) -> float:
        return 400 * min(step.clients, 2)

    study = SHORT.replace("clients = 1\n", "clients = [1, 4]\n")
    study += '\n[[chart]]\nkind = "busy-by-clients"\n'
    analysis = analyse(gather(write_study(tmp_path, study, World(scaling)), "study"))
    (chart,) = [one for one in charts(analysis) if one.name == "busy-by-clients"]
    assert {row["cell"] for row in chart.rows} == {point.label for point in analysis.points}
    for cell in {row["cell"] for row in chart.rows}:
        for what, points in ((REACHED, [(1, 50), (4, 100)]), (STRAIGHT, [(1, 50), (2, 100)])):
            rows = [row for row in chart.rows if (row["cell"], row["what"]) == (cell, what)]
            figures = [(row["clients"], row["percent"]) for row in rows]
            found = [tuple(round(float(str(one))) for one in pair) for pair in figures]
            assert found == points


def test_every_chart_that_a_study_names_has_its_place_in_the_page(tmp_path: Path) -> None:
    named = "".join(
        f'\n[[chart]]\nkind = "{kind}"\n{takes}'
        for draws, takes in (
            ("of_load", ""),
            ("of_figure", 'metric = "mysql.syncs"\n'),
            ("of_metrics", 'metrics = ["mysql.syncs"]\n'),
        )
        for kind in chart_kinds(draws)
    )
    text = SHORT.replace("clients = 1\n", "clients = [2, 4]\n") + named
    store = write_study(tmp_path, text, World(rate, samples=sampled))

    page = page_of(store)

    drawn = charts(analyse(gather(store, "study")))
    assert "busy-by-clients" in {chart.name for chart in drawn}
    for chart in drawn:
        assert page.count(f'data-chart="{chart.name}"') == 1, chart.name


RATIOS = """
[[chart]]
kind = "ratio-by-level"
metric = "throughput"

[chart.groups]
durable = ["full", "normal"]
"""


def of_journals(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` is twice as fast as `delete` with `full`, and half as fast with `normal`."""
    factor = 2.0 if run.cell.levels["synchronous"] == "full" else 0.5
    return 400 * (factor if run.cell.levels["journal"] == "wal" else 1) * (1 + 0.02 * run.block)


def test_ratios_stand_over_the_levels_of_the_baselines_first_factor(tmp_path: Path) -> None:
    store = write_study(tmp_path, SHORT + RATIOS, World(of_journals))
    made = charts(analyse(gather(store, "study")))
    chart = next(one for one in made if one.name == "ratio-by-level-throughput")

    ratios = {(row["line"], row["level"]): row["ratio"] for row in chart.rows}
    assert ratios == pytest.approx(
        {
            ("full", "delete"): 1,
            ("full", "wal"): 2,
            ("normal", "delete"): 1,
            ("normal", "wal"): 0.5,
        },
        rel=0.03,
    )
    for row in chart.rows:
        assert row["low"] <= row["ratio"] <= row["high"]  # type: ignore[operator]
    assert chart.table is not None
    assert {row[0] for row in chart.table.values} == {"durable"}
    told = {row[1]: row[4] for row in chart.table.values}
    assert told == pytest.approx({"full": 2, "normal": 0.5, "mean of 2": 1}, rel=0.03)
    picture = json.dumps(chart.picture(), allow_nan=False)
    assert "</svg>" in vl_convert.vegalite_to_svg(picture, vl_version=VEGA_LITE)
    assert 'data-chart="ratio-by-level-throughput"' in page_of(store)


LAST_MINUTES = SHORT + '\n[[chart]]\nkind = "last-minutes"\n'


def half_an_hour(run: RunMaterial) -> RunMaterial:
    """The run as if its window had been of 31 minutes, with a dip every minute."""
    seconds = np.arange(31 * 60, dtype=np.float64)
    rates = np.where(seconds % 60 < 6, 10.0, 40.0)
    whole = np.ones(seconds.size)
    series = StepSeries(seconds, whole, whole > 0, rates, 1e6 * whole)
    summaries = {0: replace(run.summaries[0], window_s=31 * 60.0)}
    return replace(run, series={0: series}, summaries=summaries)


def test_long_windows_have_a_moving_average_and_their_last_minutes(tmp_path: Path) -> None:
    material = gather(write_study(tmp_path, LAST_MINUTES, World(rate)), "study")
    long = replace(material, runs=tuple(map(half_an_hour, material.runs)))
    made = {chart.name: chart for chart in charts(analyse(long))}

    whole = made["throughput-over-time"]
    averages = {row["second"]: row["average"] for row in whole.rows}
    assert averages[299] is None
    assert averages[300] == pytest.approx(37)
    assert "five minutes" in whole.caption
    last = made["last-minutes"]
    assert min(float(str(row["second"])) for row in last.rows) == 31 * 60 - 600
    assert "a period of 60.0 s in 3 of 3 blocks" in last.caption
    for chart in (whole, last):
        picture = json.dumps(chart.picture(), allow_nan=False)
        assert "</svg>" in vl_convert.vegalite_to_svg(picture, vl_version=VEGA_LITE)


def test_short_windows_have_neither(drawn: tuple[dict[str, Chart], Path], tmp_path: Path) -> None:
    assert not any("average" in row for row in drawn[0]["throughput-over-time"].rows)
    store = write_study(tmp_path, LAST_MINUTES, World(rate))
    assert "last-minutes" not in {one.name for one in charts(analyse(gather(store, "study")))}


def test_channels_are_made_by_their_classes() -> None:
    """Altair takes 2 ms of processor time to find the class for a plain text."""
    folder = Path(str(chart_package.__file__)).parent
    plain = [
        f"{path.relative_to(folder)}:{word.value.lineno}: {word.arg}"
        for path in sorted(folder.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".encode")
        for word in call.keywords
        if isinstance(word.value, ast.Constant)
    ]

    assert plain == []
