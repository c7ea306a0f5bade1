"""Series with all blocks overlaid at the beginning of the window, warm-up shaded."""

import math
from collections.abc import Iterable
from typing import Literal

import altair as alt

from dbdyno.report.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    PALETTE,
    dots,
    fade,
    longest,
    named,
    number_axis,
    view_key,
    zoom,
)
from dbdyno.report.material import Column, RunMaterial, StepSeries
from dbdyno.report.points import Point

Figure = Literal["throughput", "latency"]

TITLES = {"throughput": "Events per second", "latency": "p99 of each interval, ms"}
CAPTION = (
    "One line a block, laid over one another at the beginning of the window; the shaded part is "
    "warm-up and not counted."
)


def over_time(analysis: Analysis, figure: Figure) -> Chart:
    """One point (cell and load) at a time, one line a block."""
    rows = [row for point in analysis.points for row in _rows(analysis, point, figure)]
    if all(row["value"] is None for row in rows):
        rows = []
    blocks = list(dict.fromkeys(str(row["block"]) for row in rows))
    blocks.sort(key=lambda name: (int(name.split()[0]), name))
    colours = [PALETTE[(int(name.split()[0]) - 1) % len(PALETTE)] for name in blocks]
    chosen, when = fade("block")
    lines = (
        alt.Chart(named())
        .mark_line(strokeWidth=1.4, point=dots(longest(analysis), 14))
        .encode(
            x=alt.X(
                "second:Q",
                title="seconds into the window",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=10, labelFlush=False),
            ),
            y=alt.Y("value:Q", title=TITLES[figure], axis=number_axis()),
            color=alt.Color(
                "block:N", title="block", scale=alt.Scale(domain=blocks, range=colours)
            ),
            opacity=when.then(alt.value(0.9)).otherwise(alt.value(0.08)),
            tooltip=[
                alt.Tooltip("block:N"),
                alt.Tooltip("second:Q"),
                alt.Tooltip("value:Q", title=TITLES[figure], format=",.4~g"),
            ],
        )
    )
    return Chart(
        f"{figure}-over-time",
        TITLES[figure],
        CAPTION,
        _warm_up(analysis) + lines.add_params(chosen, zoom()),
        tuple(rows),
        selector="point",
        height=220,
        log_scale=True,
        line_by=("view", "block"),
    )


def _warm_up(analysis: Analysis) -> alt.Chart:
    data = alt.InlineData(values=[{"from": -analysis.material.study.load.warm_up_s, "to": 0}])
    shade = alt.Chart(data).mark_rect(opacity=0.16, color="#888888", clip=True)
    drawn: alt.Chart = shade.encode(x=alt.X("from:Q"), x2="to:Q")
    return drawn


def _rows(analysis: Analysis, point: Point, figure: Figure) -> Iterable[Row]:
    view = view_key(point)
    counted = {figures.run_id for figures in point.counted}
    for run, series in _series(analysis, point):
        block = str(run.manifest.block)
        name = block if run.manifest.id in counted else f"{block} (cut short)"
        values = zip(series.start_s, _values(series, figure), strict=True)
        for second, value in values:
            yield {
                "key": view,
                "view": view,
                "block": name,
                "second": round(float(second), 3),
                "value": None if math.isnan(value) else float(f"{value:.5g}"),
            }


def _values(series: StepSeries, figure: Figure) -> Column:
    return series.events_per_s if figure == "throughput" else series.p99_ns / 1e6


def _series(analysis: Analysis, point: Point) -> Iterable[tuple[RunMaterial, StepSeries]]:
    for run in analysis.material.runs:
        series = run.series.get(point.step)
        if series is not None and dict(run.manifest.cell) == dict(point.cell.levels):
            yield run, series
