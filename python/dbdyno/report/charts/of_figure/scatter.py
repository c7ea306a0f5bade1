"""Any figure against the deciding one: every block a dot, so that it is seen whether the two go
together."""

import altair as alt

from dbdyno.model import find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    clients_text,
    colour,
    levels,
    named,
    number_axis,
    shape,
    zoom,
)

CAPTION = "Every dot is one block of one cell."


def draw(analysis: Analysis, metric: str, *, name: str) -> Chart:
    """Of the blocks that have both figures."""
    title = analysis.material.words_of(metric) or find_figure(metric).label
    drawing = (
        alt.Chart(named())
        .mark_point(size=52, strokeWidth=1.5)
        .encode(
            x=alt.X(
                "value:Q", title=title, axis=number_axis(), scale=alt.Scale(zero=False, padding=12)
            ),
            y=alt.Y(
                "decides:Q",
                title=analysis.metric.label,
                axis=number_axis(),
                scale=alt.Scale(zero=False, padding=12),
            ),
            color=colour(analysis),
            shape=shape(analysis),
            tooltip=[
                alt.Tooltip("cell:N"),
                alt.Tooltip("block:O"),
                alt.Tooltip("value:Q", title=find_figure(metric).title, format=",.4~g"),
                alt.Tooltip("decides:Q", title=analysis.metric.title, format=",.4~g"),
            ],
        )
        .add_params(zoom())
    )
    heading = f"{analysis.metric.title} against {find_figure(metric).title.lower()}"
    rows = tuple(_rows(analysis, metric))
    return Chart(name, heading, CAPTION, drawing, rows, "clients", height=340)


def _rows(analysis: Analysis, metric: str) -> list[Row]:
    rows: list[Row] = []
    for point in analysis.points:
        first, variant = levels(point)
        decides = point.values(analysis.metric_name)
        for block, value in point.values(metric).items():
            if block in decides:
                rows.append(
                    {
                        "cell": point.label,
                        "colour": first,
                        "variant": variant,
                        "block": block,
                        "value": value,
                        "decides": decides[block],
                        "key": str(point.clients),
                        "view": clients_text(point.clients),
                    }
                )
    return rows
