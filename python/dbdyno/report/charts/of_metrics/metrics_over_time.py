"""Chosen metrics below throughput and p99, on one axis of time: what the server and the machine
were doing when the load slowed down."""

import math
import warnings
from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from dbdyno.model import Sampled
from dbdyno.report.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import PALETTE, clients_text, named, number_axis
from dbdyno.report.material import RunMaterial
from dbdyno.report.points import Point
from dbdyno.report.sampled import instances, stretches_of

PANEL_HEIGHT = 110
SHORTEST_S = 0.2
"""Samples at the edges of turns may lie close to others: too close to tell a rate."""
CAPTION = (
    "One line a block. Counters are shown by second. The line under the pointer is at the same "
    "second in all panels; dragging moves and shift and wheel zoom all of them."
)
PACE = {"throughput": "Events per second", "p99": "p99 of each interval, ms"}


def draw(analysis: Analysis, metrics: Sequence[str], *, name: str) -> Chart:
    """One point (cell and load) at a time; metrics that were not sampled have no panel."""
    rows = tuple(row for point in analysis.points for row in _rows(analysis, point, metrics))
    there = {str(row["panel"]) for row in rows if row["value"] is not None}
    drawn = [one for one in (*PACE, *metrics) if one in there]
    blocks = sorted({int(str(row["block"])) for row in rows})
    shade = alt.Color(
        "block:N",
        title="block",
        scale=alt.Scale(
            domain=[str(block) for block in blocks],
            range=[PALETTE[(block - 1) % len(PALETTE)] for block in blocks],
        ),
        legend=alt.Legend(orient="top", columns=8) if len(blocks) > 1 else None,
    )
    selections = _selections()
    each = [
        _panel(one, _title(analysis, one), shade, selections, last=one == drawn[-1])
        for one in drawn
    ]
    with warnings.catch_warnings():
        # Altair tells that the panels' selections are one, which is meant.
        warnings.simplefilter("ignore", UserWarning)
        stacked = alt.vconcat(*each, spacing=6).resolve_scale(x="shared")
    return Chart(
        name,
        "Metrics over time",
        CAPTION,
        stacked,
        rows if there & set(metrics) else (),
        selector="point",
        height=(PANEL_HEIGHT + 36) * max(1, len(drawn)),
    )


def _title(analysis: Analysis, panel: str) -> str:
    return PACE.get(panel) or analysis.material.words_of(panel) or panel


def _selections() -> tuple[alt.Parameter, alt.Parameter]:
    """What the pointer is at, and what is zoomed to; the same in all panels."""
    hover = alt.selection_point(
        name="hover",
        fields=["second"],
        nearest=True,
        on="pointermove",
        clear="pointerout",
        empty=False,
    )
    zoom = alt.selection_interval(
        name="zoom", bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]"
    )
    return hover, zoom


def _panel(
    panel: str,
    title: str,
    shade: alt.Color,
    selections: tuple[alt.Parameter, alt.Parameter],
    *,
    last: bool,
) -> alt.LayerChart | alt.FacetChart:
    hover, zoom = selections
    base = alt.Chart(named()).transform_filter(alt.datum.panel == panel)
    x = alt.X(
        "second:Q",
        title="seconds into the window" if last else None,
        scale=alt.Scale(nice=False),
        axis=alt.Axis(labels=last, ticks=last, tickCount=10),
    )
    y = alt.Y("value:Q", title=None, axis=number_axis())
    lines = base.mark_line(strokeWidth=1.4, clip=True, point=alt.OverlayMarkDef(size=10)).encode(
        x=x, y=y, color=shade
    )
    points = base.mark_point(size=22, filled=True).encode(
        x=x,
        y=y,
        color=shade,
        opacity=alt.when(hover).then(alt.value(1)).otherwise(alt.value(0)),
        tooltip=[
            alt.Tooltip("block:N"),
            alt.Tooltip("second:Q", format=".1f"),
            alt.Tooltip("value:Q", title=title, format=",.4~g"),
        ],
    )
    rule = base.mark_rule(color="#888888").encode(x=x).transform_filter(hover)
    drawn: alt.LayerChart | alt.FacetChart = alt.layer(
        lines, points.add_params(hover, zoom), rule
    ).properties(
        width=640,
        height=PANEL_HEIGHT,
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight=500, frame="group"),
    )
    return drawn


def _rows(analysis: Analysis, point: Point, metrics: Sequence[str]) -> Iterator[Row]:
    counted = {figures.run_id for figures in point.counted}
    view = f"{point.label} · {clients_text(point.clients)}"
    for run in analysis.material.runs:
        if run.manifest.id not in counted:
            continue
        told = [*_pace(run, point.step)]
        for metric in metrics:
            told += _sampled(analysis, run, point.step, metric)
        for panel, second, value in told:
            yield {
                "key": view,
                "view": view,
                "panel": panel,
                "block": str(run.manifest.block),
                "second": round(second, 1),
                "value": None if math.isnan(value) else float(f"{value:.5g}"),
            }


def _pace(run: RunMaterial, step: int) -> Iterator[tuple[str, float, float]]:
    series = run.series.get(step)
    if series is None or not series.start_s.size:
        return
    ends = series.start_s + series.length_s
    for panel, values in (("throughput", series.events_per_s), ("p99", series.p99_ns / 1e6)):
        for second, value in zip(ends, values, strict=True):
            yield panel, float(second), float(value)


def _sampled(
    analysis: Analysis, run: RunMaterial, step: int, metric: str
) -> Iterator[tuple[str, float, float]]:
    """Metric, second into the window, value: of several instances the sum, of a counter its
    growth."""
    name, study = Sampled.parse(metric), analysis.material.study
    stretches = stretches_of(run, study, run.summaries[step])
    series = instances(run, name.source, name.metric, name.instance) if name else ()
    if name is None or not stretches or not series:
        return
    first = stretches[0].begin_ns
    turns = [turn.start_unix_ns for turn in run.turns if turn.step == step]
    origin = min(turns, default=first)
    begin = min(first, origin - round(study.load.warm_up_s * 1e9))
    times = np.unique(np.concatenate([one.unix_ns for one in series]))
    times = times[(times >= begin) & (times <= stretches[-1].end_ns)]
    values = np.sum([np.interp(times, one.unix_ns, one.values) for one in series], axis=0)
    seconds = (times - origin) / 1e9
    if run.samples.is_counter(name.source, name.metric) and times.size:
        lengths, grown = np.diff(seconds), np.diff(values)
        told = lengths > SHORTEST_S
        seconds, values = seconds[1:][told], grown[told] / lengths[told]
    for second, value in zip(seconds, values, strict=True):
        yield metric, float(second), float(value)
