"""Chosen metrics below throughput and p99 on a common time axis, with phases and faults marked:
what server and machine were doing when the load slowed down."""

import math
import warnings
from collections.abc import Iterator, Sequence

import altair as alt

from dbdyno.model import Sampled
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.marks import FAULTS, MEASURED, Mark
from dbdyno.report.analysis.timeline import Span
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import PALETTE, dots, longest, named, number_axis
from dbdyno.report.charts.panels import PACE, Timeline, pace_of, timeline
from dbdyno.report.material.lines import Instants, line
from dbdyno.report.material.material import Column
from dbdyno.report.material.sampled import instances

PANEL_HEIGHT = 110
LANE_HEIGHT = 15
LEFT = 86
"""Pixels for the words of the lanes, and so for the numbers of every panel."""
MARKS = "marks"
"""The panel of a row that is a phase or a fault."""
CAPTION = (
    "One line a block. Counters are shown by second. Phases and faults of all blocks stand above "
    "the panels, and are shaded in them unless measured; the pointer tells which block and what. "
    "The line under the pointer is at the same second in all panels. Dragging over a stretch zooms "
    "all of them into it, a double click shows everything again; shift and wheel zoom, too, and "
    "shift and dragging move."
)
FAULT_COLOURS = dict(
    zip(
        FAULTS,
        ("#000000", "#C51B2B", "#D55E00", "#E69F00", "#8C6BB1", "#56B4E9", "#7F7F7F"),
        strict=True,
    )
)
PHASE_COLOURS = {
    MEASURED: "#009E73",
    "warm-up": "#56B4E9",
    "lead-in": "#9CCBE8",
    "load": "#0072B2",
}
OTHER_PHASE = "#A9B2BC"


def draw(analysis: Analysis, metrics: Sequence[str], *, name: str) -> Chart:
    """One point (cell and load) at a time; metrics that were not sampled have no panel."""
    there = tuple(metric for metric in metrics if _is_sampled(analysis, metric))
    found = timeline(analysis)
    rows = tuple(_rows(found, there)) if there and found.views else ()
    paced = {str(row["panel"]) for row in rows if row["value"] is not None}
    drawn = (*(metric for metric in PACE if metric in paced), *there)
    blocks = sorted(
        {span.block for spans in found.views.values() for span in spans},
        key=lambda block: (int(block.split()[0]), block),
    )
    shade = alt.Color(
        "block:N",
        title="block",
        scale=alt.Scale(
            domain=blocks,
            range=[PALETTE[(int(block.split()[0]) - 1) % len(PALETTE)] for block in blocks],
        ),
        legend=alt.Legend(orient="top", columns=8) if len(blocks) > 1 else None,
    )
    intervals = longest(analysis)
    selections = _selections()
    panels = [
        _panel(
            metric,
            _title(analysis, metric),
            shade,
            found.kinds,
            intervals=intervals,
            selections=selections,
        )
        for metric in drawn
    ]
    with warnings.catch_warnings():
        # Altair tells that the panels' selections are one, which is meant.
        warnings.simplefilter("ignore", UserWarning)
        stacked = alt.vconcat(_lanes(found.kinds, selections), *panels, spacing=6)
        stacked = stacked.resolve_scale(x="shared")
    return Chart(
        name,
        "Metrics over time",
        CAPTION,
        stacked,
        rows,
        selector="point",
        height=(PANEL_HEIGHT + 30) * len(drawn) + 3 * LANE_HEIGHT + 40,
        line_by=("panel", "block"),
        panels=drawn,
        views=tuple(found.views),
    )


def _is_sampled(analysis: Analysis, metric: str) -> bool:
    name = Sampled.parse(metric)
    return name is not None and any(
        len(instances(run, name.source, name.metric, name.instance)) > 0
        for run in analysis.material.runs
    )


def _title(analysis: Analysis, panel: str) -> str:
    return PACE.get(panel) or analysis.material.words_of(panel) or panel


Selections = tuple[alt.Parameter, alt.Parameter, alt.Parameter]
"""What the pointer is at, what is zoomed to, and the stretch that is dragged over, to which the
page then zooms (`panels.js`); the same in all panels."""


def _selections() -> Selections:
    hover = alt.selection_point(
        name="hover",
        fields=["second"],
        nearest=True,
        on="pointermove",
        clear="pointerout",
        empty=False,
    )
    drag = "[pointerdown[{}event.shiftKey], window:pointerup] > window:pointermove!"
    zoom = alt.selection_interval(
        name="zoom",
        bind="scales",
        encodings=["x"],
        zoom="wheel![event.shiftKey]",
        translate=drag.format(""),
    )
    brush = alt.selection_interval(
        name="brush", encodings=["x"], on=drag.format("!"), translate=False, zoom=False
    )
    return hover, zoom, brush


def _x(*, labels: bool = False) -> alt.X:
    """The page shows the axis below the last panel, whichever that is there."""
    return alt.X(
        "second:Q",
        title="seconds into the window" if labels else None,
        scale=alt.Scale(nice=False),
        axis=alt.Axis(labels=labels, ticks=labels, tickCount=10),
    )


def _shades(kinds: Sequence[str]) -> tuple[alt.Fill, alt.Stroke]:
    """The outline makes an instant visible."""
    colours = {**PHASE_COLOURS, **FAULT_COLOURS}
    scale = alt.Scale(domain=list(kinds), range=[colours.get(kind, OTHER_PHASE) for kind in kinds])
    return (
        alt.Fill("kind:N", scale=scale, legend=None),
        alt.Stroke("kind:N", scale=scale, legend=None),
    )


def _lanes(kinds: Sequence[str], selections: Selections) -> alt.LayerChart | alt.FacetChart:
    """A row a kind of phase or fault; its word at the axis is the legend."""
    _, zoom, brush = selections
    fill, stroke = _shades(kinds)
    base = alt.Chart(named()).transform_filter(alt.datum.panel == MARKS)
    axis = alt.Axis(minExtent=LEFT, domain=False, ticks=False, labelLimit=LEFT)
    drawn = base.mark_bar(clip=True, height=LANE_HEIGHT - 4, strokeWidth=1.5, opacity=0.85).encode(
        x=_x(),
        x2=alt.X2("until:Q"),
        y=alt.Y("kind:N", title=None, sort=list(kinds), axis=axis),
        fill=fill,
        stroke=stroke,
        tooltip=[
            alt.Tooltip("text:N", title="what"),
            alt.Tooltip("block:N"),
            alt.Tooltip("second:Q", title="from second", format=".1f"),
            alt.Tooltip("until:Q", title="to second", format=".1f"),
        ],
    )
    lanes: alt.LayerChart | alt.FacetChart = alt.layer(drawn.add_params(zoom, brush)).properties(
        width=640,
        height=alt.Step(LANE_HEIGHT),
        title=alt.Title("Phases and faults", anchor="start", fontSize=12, frame="group"),
    )
    return lanes


def _panel(
    panel: str,
    title: str,
    shade: alt.Color,
    kinds: Sequence[str],
    *,
    intervals: int,
    selections: Selections,
) -> alt.LayerChart | alt.FacetChart:
    hover, zoom, brush = selections
    fill, stroke = _shades(kinds)
    base = alt.Chart(named()).transform_filter(alt.datum.panel == panel)
    x = _x(labels=True)
    y = alt.Y("value:Q", title=None, axis=_numbers())
    shaded = alt.Chart(named()).transform_filter(
        (alt.datum.panel == MARKS) & (alt.datum.shaded == "yes")
    )
    bands = shaded.mark_rect(clip=True, opacity=0.12).encode(
        x=x, x2=alt.X2("until:Q"), fill=fill, stroke=stroke
    )
    lines = base.mark_line(strokeWidth=1.4, clip=True, point=dots(intervals, 10)).encode(
        x=x, y=y, color=shade
    )
    # Vega-Lite takes a text of this tooltip from the wrong datum, and a number from the right one.
    pointed = base.transform_filter(alt.datum.hover == "yes").transform_calculate(
        number="parseFloat(datum.block)"
    )
    points = pointed.mark_point(size=22, filled=True).encode(
        x=x,
        y=y,
        color=shade,
        opacity=alt.when(hover).then(alt.value(1)).otherwise(alt.value(0)),
        tooltip=[
            alt.Tooltip("number:Q", title="block", format="d"),
            alt.Tooltip("second:Q", format=".1f"),
            alt.Tooltip("value:Q", title=title, format=",.4~g"),
        ],
    )
    rule = base.mark_rule(color="#888888").encode(x=x).transform_filter(hover)
    drawn: alt.LayerChart | alt.FacetChart = alt.layer(
        bands, lines, points.add_params(hover, zoom, brush), rule
    ).properties(
        width=640,
        height=PANEL_HEIGHT,
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight=500, frame="group"),
    )
    return drawn


def _numbers() -> alt.Axis:
    axis = number_axis()
    axis.minExtent = LEFT
    return axis


def _rows(found: Timeline, metrics: Sequence[str]) -> Iterator[Row]:
    """Of a picture, which shows the first view; the page has all lines elsewhere (`panels.py`)."""
    view, spans = next(iter(found.views.items()))
    for span in spans:
        columns = [*pace_of(span), *((metric, *_line(span, metric)) for metric in metrics)]
        for panel, times, values in columns:
            inside = (times >= span.begin_ns) & (times <= span.end_ns)
            for at_ns, value in zip(times[inside], values[inside], strict=True):
                yield _row(view, span, panel, (at_ns - span.origin_ns) / 1e9, value)
        for mark in found.marks[span.run.manifest.id]:
            if mark.end_ns >= span.begin_ns and mark.begin_ns <= span.end_ns:
                yield _mark(view, span, mark)


def _row(view: str, span: Span, panel: str, second: float, value: float) -> Row:
    return {
        "key": view,
        "view": view,
        "panel": panel,
        "block": span.block,
        "second": round(float(second), 1),
        "value": None if math.isnan(value) else float(f"{value:.5g}"),
        "until": None,
        "kind": None,
        "text": None,
        "shaded": None,
        "hover": None,
    }


def _mark(view: str, span: Span, mark: Mark) -> Row:
    begin_ns, end_ns = max(mark.begin_ns, span.begin_ns), min(mark.end_ns, span.end_ns)
    return {
        **_row(view, span, MARKS, (begin_ns - span.origin_ns) / 1e9, math.nan),
        "until": round((end_ns - span.origin_ns) / 1e9, 1),
        "kind": mark.kind,
        "text": mark.text,
        "shaded": "yes" if mark.is_shaded else "no",
    }


def _line(span: Span, metric: str) -> tuple[Instants, Column]:
    """Of several instances the sum, of a counter its growth by second."""
    name = Sampled.parse(metric)
    assert name is not None, "the study's reader and `_is_sampled` let only such names pass"
    counter = span.run.samples.is_counter(name.source, name.metric)
    return line(instances(span.run, name.source, name.metric, name.instance), counter=counter)
