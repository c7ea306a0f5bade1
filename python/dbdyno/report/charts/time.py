"""Series with all blocks overlaid at the beginning of the window, warm-up shaded; of long windows
with a moving average."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import altair as alt
import numpy as np

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
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
from dbdyno.report.material.material import Column, RunMaterial, StepSeries
from dbdyno.stats import moving_mean

Figure = Literal["throughput", "latency"]

TITLES = {"throughput": "Events per second", "latency": "p99 of each interval, ms"}
CAPTION = (
    "One line a block, laid over one another at the beginning of the window; the shaded part is "
    "warm-up and not counted."
)
AVERAGED_S = 300.0
"""Reach of the moving average."""
AVERAGED_FROM_S = 4 * AVERAGED_S
"""Shorter windows have none: it would say little more than their mean."""
AVERAGED = " Thick: the mean of the five minutes before."


def over_time(analysis: Analysis, figure: Figure) -> Chart:
    """One point (cell and load) at a time, one line a block."""
    rows = series_rows(analysis, figure)
    averaged = any("average" in row for row in rows)
    return Chart(
        f"{figure}-over-time",
        TITLES[figure],
        CAPTION + (AVERAGED if averaged else ""),
        alt.layer(_warm_up(analysis), *lines_by_block(analysis, figure, rows)),
        rows,
        selector="point",
        height=220,
        log_scale=True,
        line_by=("view", "block"),
    )


def series_rows(analysis: Analysis, figure: Figure) -> tuple[Row, ...]:
    """Every interval of every block; none where nothing was measured by interval."""
    rows = tuple(row for point in analysis.points for row in _rows(analysis, point, figure))
    return rows if any(row["value"] is not None for row in rows) else ()


def lines_by_block(
    analysis: Analysis, figure: Figure, rows: Sequence[Row]
) -> tuple[alt.Chart, ...]:
    """Layers with a colour a block; averages, where there are some, are thick over faint lines."""
    blocks = list(dict.fromkeys(str(row["block"]) for row in rows))
    blocks.sort(key=lambda name: (int(name.split()[0]), name))
    colours = [PALETTE[(int(name.split()[0]) - 1) % len(PALETTE)] for name in blocks]
    averaged = any("average" in row for row in rows)
    chosen, when = fade("block", by_legend=len(blocks) > 1)
    x = alt.X(
        "second:Q",
        title="seconds into the window",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickCount=10, labelFlush=False),
    )
    shade = alt.Color(
        "block:N",
        title="block",
        scale=alt.Scale(domain=blocks, range=colours),
        legend=alt.Legend() if len(blocks) > 1 else None,
    )
    lines = (
        alt.Chart(named())
        .mark_line(strokeWidth=1.4, point=dots(longest(analysis), 14))
        .encode(
            x=x,
            y=alt.Y("value:Q", title=TITLES[figure], axis=number_axis()),
            color=shade,
            opacity=when.then(alt.value(0.4 if averaged else 0.9)).otherwise(alt.value(0.08)),
            tooltip=[
                alt.Tooltip("block:N"),
                alt.Tooltip("second:Q"),
                alt.Tooltip("value:Q", title=TITLES[figure], format=",.4~g"),
            ],
        )
        .add_params(chosen, zoom())
    )
    if not averaged:
        return (lines,)
    averages = (
        alt.Chart(named())
        .mark_line(strokeWidth=3)
        .encode(
            x=x,
            y=alt.Y("average:Q", title=TITLES[figure]),
            color=shade,
            opacity=when.then(alt.value(1)).otherwise(alt.value(0.08)),
        )
    )
    return lines, averages


def _warm_up(analysis: Analysis) -> alt.Chart:
    data = alt.InlineData(values=[{"from": -analysis.material.study.load.warm_up_s, "to": 0}])
    shade = alt.Chart(data).mark_rect(opacity=0.16, color="#888888", clip=True)
    drawn: alt.Chart = shade.encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    return drawn


def _rows(analysis: Analysis, point: Point, figure: Figure) -> Iterable[Row]:
    view = view_key(point)
    counted = {figures.run_id for figures in point.counted}
    for run, series in _series(analysis, point):
        block = str(run.manifest.block)
        name = block if run.manifest.id in counted else f"{block} (cut short)"
        values = _values(series, figure)
        averages = _averages(series, values)
        for place, second in enumerate(series.start_s):
            if series.length_s[place] < series.interval_s / 2:
                continue  # What is left at the end of a window is too short for a rate.
            if place and second - series.start_s[place - 1] > 1.5 * series.interval_s:
                yield _pause(view, name, float(series.start_s[place - 1]) + series.interval_s)
            row = {
                "key": view,
                "view": view,
                "block": name,
                "second": round(float(second), 3),
                "value": _rounded(values[place]),
            }
            yield row if averages is None else {**row, "average": _rounded(averages[place])}


def _pause(view: str, block: str, second: float) -> Row:
    """Breaks the line where nothing was driven, as between turns."""
    return {"key": view, "view": view, "block": block, "second": round(second, 3), "value": None}


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.5g}")


def _values(series: StepSeries, figure: Figure) -> Column:
    return series.events_per_s if figure == "throughput" else series.p99_ns / 1e6


def _averages(series: StepSeries, values: Column) -> Column | None:
    """Within the window; `None` where that is too short."""
    inside = series.measured
    if float(series.length_s[inside].sum()) < AVERAGED_FROM_S:
        return None
    averages = np.full(values.size, np.nan)
    averages[inside] = moving_mean(series.start_s[inside], values[inside], AVERAGED_S)
    return averages


def _series(analysis: Analysis, point: Point) -> Iterable[tuple[RunMaterial, StepSeries]]:
    for run in analysis.material.runs:
        series = run.series.get(point.step)
        if series is not None and dict(run.manifest.cell) == dict(point.cell.levels):
            yield run, series
