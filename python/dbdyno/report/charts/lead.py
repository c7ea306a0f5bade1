"""The picture of the answer: the deciding figure of every cell with its interval, labelled in
place, the baseline marked, the ratio beside.

One load: a row a cell. Three loads or more: a line a cell over the number of clients. A cell by
itself: its pace over time.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import share_of
from dbdyno.report.analysis.points import Point
from dbdyno.report.answer.contrast import level_names
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import log_ticks, named, number_axis
from dbdyno.report.charts.lead_lines import by_load
from dbdyno.report.charts.time import over_time
from dbdyno.report.terms.everyday import brief_size, figure_name
from dbdyno.report.terms.wording import clients_text, number, quantity, sentence_case
from dbdyno.stats import NotComparable, PairedEffect, ShareEffect

NAME = "answer"
MOST_ROWS = 9
"""Cells shown; the others stand in the tables and charts below."""

FAR_APART = 30
"""Greatest over least figure from where on an axis is logarithmic, and bars are dots."""

LINES_FROM = 3
"""Loads from where on they are an axis."""

ROW, LINE = 40, 15
"""Pixels of a row, and of each further line of its name."""

NAME_WIDTH = 38
"""Characters of a line of a name: a phone has room for so many."""

BLUE, GREY = "#0072B2", "#7F7F7F"

OVER_TIME = "Each second of each repeat; the shaded part is warm-up and not counted."

INTERVAL = "lines: 95 % intervals over repeats"


def lead(analysis: Analysis) -> Chart | None:
    """The picture; `None` where nothing was measured."""
    measured = [point for point in analysis.points if _figure(point, analysis) is not None]
    if not measured:
        return None
    loads = sorted({point.clients for point in measured})
    if len(measured) == 1 and not analysis.metric.share:
        paced = over_time(analysis, "throughput")
        if paced.rows:
            first = paced.rows[0]["key"]
            rows = tuple(row for row in paced.rows if row["key"] == first)
            return replace(
                paced, name=NAME, caption=OVER_TIME, rows=rows, selector=None, height=240
            )
    if len(loads) >= LINES_FROM and not analysis.metric.share:
        return by_load(analysis, measured, name=NAME)
    top = max(loads)
    return _rows_chart([p for p in measured if p.clients == top], analysis, several=len(loads) > 1)


def _figure(point: Point, analysis: Analysis) -> tuple[float, float, float] | None:
    """A figure and the ends of its interval, both itself where it has none."""
    if analysis.metric.share:
        share = share_of(point, analysis.metric_name)
        return None if share is None else (share.value, *share.interval())
    mean = point.estimate(analysis.metric_name)
    if mean is None:
        return None
    low = mean.value if mean.low is None else mean.low
    high = mean.value if mean.high is None else mean.high
    return mean.value, low, high


def _rows_chart(points: Sequence[Point], analysis: Analysis, *, several: bool) -> Chart:
    shown = _most_telling(points, analysis)
    figures = [_figure(point, analysis) or (0.0, 0.0, 0.0) for point in shown]
    values = [value for value, *_ in figures]
    apart = min(values) > 0 and max(values) / min(values) > FAR_APART
    room = 4.0 if apart else 1.6
    least = min(values) / room if apart else 0.0
    most = max(values) * room
    rows = tuple(
        _row(point, figure, analysis, ends=(least, most), first=least)
        for point, figure in zip(shown, figures, strict=True)
    )
    top = max(max(values), *(float(str(row["high"])) for row in rows))
    low = min(float(str(row["low"])) for row in rows) if apart else 0.0
    lines = max(str(row["name"]).count("\n") for row in rows)
    height = (ROW + LINE * lines) * len(rows)
    caption = "Dots" if apart else "Bars"
    caption += f": means over repeats, {INTERVAL}"
    if analysis.metric.share:
        caption = "Bars: shares of all trials, lines: their 95 % intervals"
    if len(shown) < len(points):
        caption += f"; {len(points) - len(shown)} more cells below"
    load = f" at {clients_text(shown[0].clients)}" if several else ""
    return Chart(
        NAME,
        f"{sentence_case(_title(analysis))}{load}",
        f"{caption}.",
        _drawing(rows, analysis, domain=[low, top], apart=apart, lines=lines),
        rows,
        height=height,
    )


def _title(analysis: Analysis) -> str:
    known = analysis.material.words_of(analysis.metric_name)
    unit = {"µs": "", "": ""}.get(analysis.metric.unit, f", {analysis.metric.unit}")
    return known or f"{figure_name(analysis.metric)}{unit}"


def _most_telling(points: Sequence[Point], analysis: Analysis) -> Sequence[Point]:
    """Of many the baseline and the fastest and slowest, in the study's order."""
    if len(points) <= MOST_ROWS:
        return points
    baselines = _baselines(analysis)
    ordered = sorted(points, key=lambda p: (_figure(p, analysis) or (0.0,))[0])
    ends = [*ordered[: MOST_ROWS // 2], *ordered[-(MOST_ROWS // 2) :]]
    kept = [p for p in points if p in ends or (p in baselines and len(baselines) == 1)]
    return kept[:MOST_ROWS]


def _baselines(analysis: Analysis) -> list[Point]:
    return list({id(c.baseline): c.baseline for c in analysis.comparisons}.values())


def _row(
    point: Point,
    figure: tuple[float, float, float],
    analysis: Analysis,
    *,
    ends: tuple[float, float],
    first: float,
) -> Row:
    value, low, high = figure
    ratio, side = _ratio(point, analysis)
    shown = (
        f"{number(100 * value, 2)}\u202f%"
        if analysis.metric.share
        else quantity(value, analysis.metric.unit).removesuffix(f" {analysis.metric.unit}")
        if analysis.metric.unit != "µs"
        else quantity(value, "µs")
    )
    return {
        "cell": point.label,
        "name": "\n".join(textwrap.wrap(level_names(point.cell.levels, analysis), NAME_WIDTH)),
        "side": side,
        "first": first,
        "value": value,
        "low": max(low, ends[0]),
        "high": min(high, ends[1]),
        "text": f"{shown}{f' · {ratio}' if ratio else ''}",
        "clients": point.clients,
    }


def _ratio(point: Point, analysis: Analysis) -> tuple[str, str]:
    """What stands beside the figure, and whose side it is."""
    if any(point is baseline for baseline in _baselines(analysis)):
        return "baseline", "baseline"
    effects = [c.judgement for c in analysis.comparisons if c.point is point]
    for judgement in effects:
        effect = judgement.effect
        if isinstance(effect, NotComparable):
            return "", "candidate"
        if not judgement.verdict.definite:
            return "can't tell", "open"
        if isinstance(effect, PairedEffect):
            return brief_size(effect.ratio, many=analysis.metric.rate), "candidate"
        if isinstance(effect, ShareEffect):
            points = round(100 * effect.difference)
            return f"{abs(points)} points {'more' if points > 0 else 'fewer'}", "candidate"
    return "", "candidate"


def _drawing(
    rows: Sequence[Row], analysis: Analysis, *, domain: list[float], apart: bool, lines: int
) -> alt.LayerChart | alt.FacetChart:
    """Names above their marks, so that the marks have the whole width; figures to the right."""
    base = alt.Chart(named())
    room = alt.Scale(
        type="log" if apart else "linear",
        domain=[domain[0] * 0.8, domain[1]] if apart else [0, domain[1]],
        nice=False,
        range=[0, alt.ExprRef("max(width * 0.56, width - 250)")],
    )
    ticks = [t for t in log_ticks(domain) if domain[0] <= t <= domain[1]] if apart else None
    axis = number_axis(ticks)
    axis.gridOpacity = 0.6
    axis.tickCount = 5
    axis.labelOverlap = True
    if analysis.metric.share:
        axis = alt.Axis(format=".0%", tickCount=5, gridOpacity=0.6)
    unit = "log scale" if apart else None
    y = alt.Y("cell:N", sort=None, title=None, axis=None, scale=alt.Scale(padding=0))
    below = 7 + LINE * lines // 2
    shade = alt.Color(
        "side:N",
        legend=None,
        scale=alt.Scale(domain=["candidate", "open", "baseline"], range=[BLUE, BLUE, GREY]),
    )
    x = alt.X("value:Q", scale=room, axis=axis, title=unit)
    names = base.mark_text(
        align="left",
        baseline="bottom",
        fontSize=13,
        fontWeight=600,
        lineBreak="\n",
        lineHeight=LINE,
        dy=below - 11 - LINE * lines,
    ).encode(y=y, x=alt.value(0), text="name:N")
    tips = [
        alt.Tooltip("cell:N"),
        alt.Tooltip("clients:Q"),
        alt.Tooltip("value:Q", title="mean", format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    marks = base.mark_point(size=80, filled=True, opacity=1, yOffset=below)
    if not apart:
        marks = base.mark_bar(size=14, opacity=0.55, yOffset=below)
    drawn = marks.encode(x=x, y=y, color=shade, tooltip=tips)
    reach = base.mark_rule(strokeWidth=2, yOffset=below).encode(
        x=alt.X("low:Q", scale=room), x2="high:Q", y=y, color=shade
    )
    figures = base.mark_text(align="left", baseline="middle", fontSize=13, dx=9, dy=below).encode(
        x=alt.X("high:Q", scale=room), y=y, text="text:N"
    )
    layers = [drawn, reach, names, figures]
    if any(row["side"] == "baseline" for row in rows) and len(rows) > 1:
        rule = (
            base.mark_rule(strokeDash=[4, 4], color=GREY, strokeWidth=1)
            .transform_filter("datum.side == 'baseline'")
            .encode(x=alt.X("value:Q", scale=room))
        )
        layers = [rule, *layers]
    layered: alt.LayerChart | alt.FacetChart = alt.layer(*layers)
    return layered
