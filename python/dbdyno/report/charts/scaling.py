"""Throughput over clients with the curve that describes it, beside the straight line."""

from collections.abc import Iterator

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import colour, levels, named, number_axis
from dbdyno.report.sections.scaling import curves
from dbdyno.stats import NotComparable

CAPTION = (
    "Dots: single blocks. Line: the curve that describes the cell best. Dashed: the rate of one "
    "client times clients."
)


def fitted_curves(analysis: Analysis) -> Chart:
    """Nothing to show where no cell has a curve."""
    rows = tuple(_rows(analysis))
    highest = max((float(str(row["value"])) for row in rows if row["what"] == "block"), default=1.0)
    base = alt.Chart(named())
    x = alt.X(
        "clients:Q",
        title="clients",
        axis=alt.Axis(values=list(analysis.clients), format="d", labelOverlap=True),
    )
    y = alt.Y(
        "value:Q",
        title="events/s",
        axis=number_axis(),
        scale=alt.Scale(domain=[0, 1.1 * highest], clamp=True),
    )
    shade = colour(analysis)
    tips = [alt.Tooltip("cell:N"), alt.Tooltip("clients:Q"), alt.Tooltip("value:Q", format=",.4~g")]
    line = base.mark_line(strokeWidth=2).encode(
        x=x,
        y=y,
        color=shade,
        detail=[alt.Detail("cell:N"), alt.Detail("what:N")],
        strokeDash=alt.StrokeDash(
            "what:N", scale=alt.Scale(domain=["curve", "straight"], range=[[1, 0], [4, 4]])
        ).legend(None),
    )
    dots = base.mark_point(size=40, filled=True).encode(x=x, y=y, color=shade, tooltip=tips)
    drawing = line.transform_filter("datum.what !== 'block'") + dots.transform_filter(
        "datum.what === 'block'"
    )
    title = "Throughput by clients, and the curve that describes it"
    return Chart("scaling", title, CAPTION, drawing, rows, height=340)


def _rows(analysis: Analysis) -> Iterator[Row]:
    for label, (points, found) in curves(analysis).items():
        if isinstance(found, NotComparable):
            continue
        shade = levels(points[0])[0]

        def row(
            clients: float, value: float, what: str, *, cell: str = label, shade: str = shade
        ) -> Row:
            encoded = {"cell": cell, "colour": shade, "clients": clients}
            return {**encoded, "value": value, "what": what}

        for point in points:
            for value in point.judged(analysis.pace_name).values():
                yield row(point.clients, value, "block")
        for load, value in found.fitted.items():
            yield row(load, value, "curve")
        most = max(value for value in found.fitted.values())
        reach = min(max(found.fitted), 1.1 * most / found.rate.value)
        yield row(1, found.rate.value, "straight")
        yield row(reach, found.rate.value * reach, "straight")
