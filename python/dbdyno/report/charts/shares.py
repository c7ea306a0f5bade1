"""The deciding share of every cell with Wilson's interval, where trials are counted."""

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.shares import share_of
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    clients_text,
    colour,
    label_axis,
    label_height,
    levels,
    named,
    wrapped,
)

CAPTION = "Dot: share of all trials that enter verdicts; line: its 95 % interval (Wilson)."


def shares(analysis: Analysis) -> Chart:
    """A row a cell; one without a trial has none."""
    rows = tuple(_rows(analysis))
    x = alt.X(
        "share:Q",
        title=analysis.metric.label,
        axis=alt.Axis(format=".0%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    y = label_axis()
    tips = [
        alt.Tooltip("cell:N"),
        alt.Tooltip("found:Q"),
        alt.Tooltip("trials:Q"),
        alt.Tooltip("low:Q", title="95 % from", format=".0%"),
        alt.Tooltip("high:Q", title="to", format=".0%"),
    ]
    base = alt.Chart(named())
    shade = colour(analysis)
    reach = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=shade
    )
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x, y=y, color=shade, tooltip=tips
    )
    title = analysis.metric.title
    return Chart("shares", title, CAPTION, reach + dots, rows, "clients", label_height(rows))


def _rows(analysis: Analysis) -> list[Row]:
    rows: list[Row] = []
    for point in analysis.points:
        share = share_of(point, analysis.metric_name)
        if share is None:
            continue
        low, high = share.interval()
        rows.append(
            {
                "cell": point.label,
                "label": wrapped(point.label),
                "colour": levels(point)[0],
                "share": share.value,
                "low": low,
                "high": high,
                "found": share.found,
                "trials": share.trials,
                "key": str(point.clients),
                "view": clients_text(point.clients),
            }
        )
    return rows
