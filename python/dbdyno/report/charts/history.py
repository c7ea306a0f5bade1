"""A figure over versions or dates, with its intervals, levels and changes."""

from __future__ import annotations

import altair as alt

from dbdyno.report.analysis.history_series import Histories, Series
from dbdyno.report.answer.history_words import names, segments, title
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import PALETTE, named, number_axis

CAPTION = (
    "Dot: geometric mean over the blocks of one study; bar: its 95 % interval. Line: the level "
    "between changes; dashed: the first point of another level. Hollow: outlier, "
    "no part of a level."
)

_ANCHORED = ", over the anchor's"


def history_chart(series: Series, computed: Histories, *, name: str) -> Chart:
    """A figure over dates or versions, with its changes of level."""
    rows = _rows(series, computed)
    anchored = series.anchor is not None
    label = "ratio to the anchor" if anchored else computed.figure.label
    order = [str(row["point"]) for row in rows]
    x = alt.X("point:N", title=None, sort=order, axis=alt.Axis(labelAngle=-40, labelLimit=160))
    # The bars' ends, not zero, say how far the axis must reach.
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False), axis=number_axis())
    base = alt.Chart(named())
    layers: list[alt.Chart] = []
    if any(row["level"] is not None for row in rows):
        line = base.mark_line(interpolate="step", strokeWidth=2, color=PALETTE[1])
        layers.append(line.encode(x=x, y=alt.Y("level:Q")))
        rules = base.mark_rule(strokeDash=[5, 4], color=PALETTE[5], strokeWidth=1.5)
        layers.append(rules.transform_filter("datum.changed").encode(x=x))
    if any(row["low"] is not None for row in rows):
        bars = base.mark_rule(strokeWidth=2, color=PALETTE[0]).transform_filter(
            "datum.low !== null"
        )
        layers.append(bars.encode(x=x, y=alt.Y("low:Q", title=label), y2=alt.Y2("high:Q")))
    tooltip = [
        alt.Tooltip("point:N"),
        alt.Tooltip("server:N"),
        alt.Tooltip("study:N"),
        alt.Tooltip("value:Q", format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("blocks:Q"),
    ]
    dots = base.mark_point(size=60, filled=True, opacity=1, color=PALETTE[0])
    if any(row["outlier"] for row in rows):
        hollow = base.mark_point(size=70, color=PALETTE[0], strokeWidth=1.5)
        layers.append(hollow.transform_filter("datum.outlier").encode(x=x, y=y, tooltip=tooltip))
        dots = dots.transform_filter("!datum.outlier")
    layers.append(dots.encode(x=x, y=y, tooltip=tooltip))
    return Chart(
        name,
        f"{computed.figure.title}{_ANCHORED if anchored else ''}: {title(series)}",
        CAPTION,
        alt.layer(*layers),
        rows,
        height=320,
    )


def _rows(series: Series, computed: Histories) -> tuple[Row, ...]:
    levels = segments(series) or (None,) * len(series.places)
    changed = {change.index for change in series.found.changes}
    return tuple(
        {
            "point": name,
            "server": f"{place.entry.kind} {place.entry.version}".strip(),
            "study": place.entry.side.name,
            "value": place.value,
            "low": place.low,
            "high": place.high,
            "blocks": place.blocks,
            "level": level,
            "changed": index in changed,
            "outlier": index in series.found.outliers,
        }
        for index, (name, place, level) in enumerate(
            zip(names(series, computed.by), series.places, levels, strict=True)
        )
    )
