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
from dbdyno.report.analysis.points import Point, label
from dbdyno.report.analysis.shares import share_of
from dbdyno.report.answer.contrast import level_terms, metric_words
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import far_apart, log_ticks, mean_tips, named, number_axis
from dbdyno.report.charts.lead_lines import by_load
from dbdyno.report.charts.time import over_time
from dbdyno.report.terms.everyday import amount, brief_size
from dbdyno.report.terms.wording import (
    clients_text,
    number,
    percent,
    sentence_case,
    time_unit,
)
from dbdyno.stats import NotComparable, ShareEffect

NAME = "answer"
MOST_ROWS = 11
"""Cells shown; the others stand in the tables and charts below."""

LINES_FROM = 3
"""Loads from where on they are an axis."""

ROW, LINE = 36, 15
"""Pixels of a row, and of each further line of its name."""

NAME_WIDTH = 38
"""Characters of a line of a name: a phone has room for so many."""

BLUE, GREY = "#0072B2", "#7F7F7F"

OVER_TIME = "Each second of each repeat"
SHADED = "; the shaded part is warm-up and not counted"

INTERVAL = "lines: 95 % intervals, over repeats"


def lead(analysis: Analysis) -> Chart | None:
    """The picture; `None` where nothing was measured."""
    known = [(point, _figure(point, analysis)) for point in analysis.points]
    measured = [(point, figure) for point, figure in known if figure is not None]
    if not measured:
        return None
    loads = {point.clients for point, _ in measured}
    if len(measured) == 1 and not analysis.metric.of_trials:
        paced = over_time(analysis, "throughput")
        if paced.rows:
            first = paced.rows[0]["key"]
            rows = tuple(row for row in paced.rows if row["key"] == first)
            shaded = any(float(str(row["second"])) < 0 for row in rows)
            caption = f"{OVER_TIME}{SHADED if shaded else ''}."
            return replace(paced, name=NAME, caption=caption, rows=rows, selector=None, height=240)
    if len(loads) >= LINES_FROM and not analysis.metric.share:
        return by_load(analysis, [point for point, _ in measured], name=NAME)
    top = [entry for entry in measured if entry[0].clients == max(loads)]
    return _rows_chart(top, analysis, several=len(loads) > 1)


Figured = tuple[float, float, float]
"""A cell's figure, and the ends of its interval."""


def _figure(point: Point, analysis: Analysis) -> Figured | None:
    """A figure and the ends of its interval, both itself where it has none."""
    if analysis.metric.of_trials:
        share = share_of(point, analysis.metric_name)
        return None if share is None else (share.value, *share.interval())
    mean = point.estimate(analysis.metric_name)
    if mean is None:
        return None
    low = mean.value if mean.low is None else mean.low
    high = mean.value if mean.high is None else mean.high
    return mean.value, low, high


def _rows_chart(
    measured: Sequence[tuple[Point, Figured]], analysis: Analysis, *, several: bool
) -> Chart:
    groups = _by_baseline(measured, analysis)
    shown = _most_telling(measured, groups)
    values = [value for _, (value, *_) in shown]
    apart = far_apart(values)
    room = 4.0 if apart else 2.5
    least = min(values) / room if apart else 0.0
    most = max(values) * room
    names = _names([point for point, _ in shown], analysis)
    rows = tuple(
        _row(point, figure, analysis, name=name, ends=(least, most))
        for name, (point, figure) in zip(names, shown, strict=True)
    )
    top = max(max(values), *(float(str(row["high"])) for row in rows))
    low = min(float(str(row["low"])) for row in rows) if apart else 0.0
    lines = names[0].count("\n")
    height = (ROW + LINE * lines) * len(rows)
    mark = "Dots" if apart else "Bars"
    caption = f"{mark}: means, {INTERVAL}"
    if analysis.metric.of_trials:
        caption = "Bars: shares of all trials, lines: their 95 % intervals"
    if sum(row["side"] == "baseline" for row in rows) > 1:
        caption += f"; each blue {mark[:-1].lower()} is compared with the grey one above it"
    if any(row["goes_on"] for row in rows):
        caption += "; an arrow: the interval goes on"
    if len(shown) < len(measured):
        caption += f"; {len(shown)} of {len(measured)} shown, the rest in the tables below"
    load = f" at {clients_text(shown[0][0].clients)}" if several else ""
    return Chart(
        NAME,
        f"{sentence_case(_title(analysis))}{load}",
        f"{caption}.",
        _drawing(rows, analysis, domain=[low, top], apart=apart, lines=lines),
        rows,
        height=height,
    )


def _title(analysis: Analysis) -> str:
    unit = analysis.metric.unit
    # Times have theirs in each figure.
    beside = "" if unit in ("", "µs") else f", {unit}"
    return f"{metric_words(analysis)}{beside}"


Groups = Sequence[Sequence[tuple[Point, Figured]]]
"""Cells with one baseline, which is the first of them; a cell that is not compared is alone."""


def _by_baseline(measured: Sequence[tuple[Point, Figured]], analysis: Analysis) -> Groups:
    """All that was measured in groups, in the study's order."""
    against = {id(c.point): id(c.baseline) for c in analysis.comparisons}
    groups: dict[int, list[tuple[Point, Figured]]] = {}
    for entry in measured:
        place = id(entry[0])
        groups.setdefault(against.get(place, place), []).append(entry)
    return [
        sorted(members, key=lambda entry: id(entry[0]) != baseline)
        for baseline, members in groups.items()
    ]


def _most_telling(
    measured: Sequence[tuple[Point, Figured]], groups: Groups
) -> Sequence[tuple[Point, Figured]]:
    """Cells behind their baselines. Of too many: whole groups, as many as there is room for; of
    cells with one baseline it and those with the least and the greatest figures, in the study's
    order."""
    compared = [group for group in groups if len(group) > 1]
    if len(measured) <= MOST_ROWS:
        return [entry for group in groups for entry in group] if len(compared) > 1 else measured
    if len(compared) > 1 and len(compared[0]) <= MOST_ROWS:
        shown: list[tuple[Point, Figured]] = []
        for group in compared:
            if len(shown) + len(group) <= MOST_ROWS:
                shown += group
        return shown
    ordered = sorted(measured, key=lambda entry: entry[1][0])
    half = MOST_ROWS // 2
    kept = [point for point, _ in (*ordered[:half], *ordered[-half:])]
    kept += [compared[0][0][0]] if len(compared) == 1 else []
    return [entry for entry in measured if entry[0] in kept]


def _baselines(analysis: Analysis) -> list[Point]:
    """The points that others are compared with, no point twice."""
    return list({id(c.baseline): c.baseline for c in analysis.comparisons}.values())


def _names(points: Sequence[Point], analysis: Analysis) -> list[str]:
    """Of cells, each with as many lines as the longest, the first ones empty; without names of
    factors if one would be too long with them."""
    names = [", ".join(level_terms(point.cell.levels, analysis)) for point in points]
    if max(map(len, names)) > NAME_WIDTH:
        names = [label(point.cell.levels, point.varying) for point in points]
    wrapped = [textwrap.wrap(name, NAME_WIDTH) for name in names]
    most = max(map(len, wrapped))
    # An empty line would take no room in SVG.
    return ["\n".join(["\N{NO-BREAK SPACE}"] * (most - len(lines)) + lines) for lines in wrapped]


def _row(
    point: Point, figure: Figured, analysis: Analysis, *, name: str, ends: tuple[float, float]
) -> Row:
    value, low, high = figure
    ratio, side = _ratio(point, analysis)
    if analysis.metric.share:
        shown = percent(value)
    else:
        shown = amount(value, "µs") if analysis.metric.unit == "µs" else number(value)
    return {
        "cell": point.label,
        "name": name,
        "side": side,
        "first": ends[0],
        "value": value,
        "low": max(low, ends[0]),
        "high": min(high, ends[1]),
        "goes_on": high > ends[1],
        "text": f"{shown}{f' · {ratio}' if ratio else ''}",
        "clients": point.clients,
    }


def _ratio(point: Point, analysis: Analysis) -> tuple[str, str]:
    """What stands beside the figure, and whose side it is."""
    if any(point is baseline for baseline in _baselines(analysis)):
        return "baseline", "baseline"
    judgement = next((c.judgement for c in analysis.comparisons if c.point is point), None)
    if judgement is None:
        return "", "candidate"
    if isinstance(judgement.effect, NotComparable):
        return "can't tell", "open"
    effect = judgement.effect
    if not judgement.verdict.definite:
        return "can't tell", "open"
    if isinstance(effect, ShareEffect):
        points = round(100 * effect.difference)
        return f"{abs(points)} points {'more' if points > 0 else 'fewer'}", "candidate"
    return brief_size(effect.ratio, many=analysis.metric.rate), "candidate"


def _figures_px(rows: Sequence[Row]) -> int:
    """Room for the longest figure with its ratio, which stands to the right of its mark."""
    return 20 + 7 * max(len(str(row["text"])) for row in rows)


def _drawing(
    rows: Sequence[Row], analysis: Analysis, *, domain: list[float], apart: bool, lines: int
) -> alt.LayerChart | alt.FacetChart:
    """Names above their marks, so that the marks have the whole width; figures to the right."""
    base = alt.Chart(named())
    room = alt.Scale(
        type="log" if apart else "linear",
        domain=[domain[0] * 0.8, domain[1]] if apart else [0, domain[1]],
        nice=False,
        range=[0, alt.ExprRef(f"max(width * 0.3, width - {_figures_px(rows)})")],
    )
    ticks = [t for t in log_ticks(domain) if domain[0] <= t <= domain[1]] if apart else None
    unit, per_ns = time_unit([domain[1] * 1000]) if analysis.metric.unit == "µs" else ("", 1000.0)
    axis = number_axis(ticks, per=per_ns / 1000)
    axis.gridOpacity = 0.6
    axis.tickCount = 5
    axis.labelOverlap = True
    axis.labelSeparation = 6
    if analysis.metric.share:
        axis = alt.Axis(format=".0%", tickCount=5, gridOpacity=0.6)
    title = ", ".join(filter(None, (unit, "log scale" if apart else ""))) or None
    y = alt.Y("cell:N", sort=None, title=None, axis=None, scale=alt.Scale(padding=0))
    below = 7 + LINE * lines // 2
    shade = alt.Color(
        "side:N",
        legend=None,
        scale=alt.Scale(domain=["candidate", "open", "baseline"], range=[BLUE, BLUE, GREY]),
    )
    x = alt.X("value:Q", scale=room, axis=axis, title=title)
    left = alt.XValue(0)  # type: ignore[no-untyped-call]
    names = base.mark_text(
        align="left",
        baseline="bottom",
        fontSize=13,
        fontWeight=600,
        lineBreak="\n",
        lineHeight=LINE,
        dy=below - 11 - LINE * lines,
    ).encode(y=y, x=left, text=alt.Text("name:N"))
    marks = base.mark_point(size=80, filled=True, opacity=1, yOffset=below)
    if not apart:
        marks = base.mark_bar(size=14, opacity=0.4, yOffset=below)
    drawn = marks.encode(x=x, y=y, color=shade, tooltip=mean_tips(alt.Tooltip("cell:N")))
    reach = base.mark_rule(strokeWidth=2, yOffset=below).encode(
        x=alt.X("low:Q", scale=room), x2=alt.X2("high:Q"), y=y, color=shade
    )
    figures = base.mark_text(align="left", baseline="middle", fontSize=13, dx=9, dy=below).encode(
        x=alt.X("high:Q", scale=room), y=y, text=alt.Text("text:N")
    )
    layers = [drawn, reach, names, figures]
    if any(row["goes_on"] for row in rows):
        arrow = base.mark_point(
            shape="triangle-right", filled=True, opacity=1, size=70, yOffset=below
        )
        layers.append(
            arrow.transform_filter("datum.goes_on").encode(
                x=alt.X("high:Q", scale=room), y=y, color=shade
            )
        )
    if sum(row["side"] == "baseline" for row in rows) == 1 and len(rows) > 1:
        rule = (
            base.mark_rule(strokeDash=[4, 4], color=GREY, strokeWidth=1)
            .transform_filter("datum.side == 'baseline'")
            .encode(x=alt.X("value:Q", scale=room))
        )
        layers = [rule, *layers]
    layered: alt.LayerChart | alt.FacetChart = alt.layer(*layers)
    return layered
