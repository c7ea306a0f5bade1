"""Throughput and busy processors, both in percent, over the number of clients, beside linear
scaling from the fewest clients."""

from collections.abc import Iterator

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.answer.busy import by_load
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import named

REACHED, BUSY, STRAIGHT = "throughput, of the highest", "processors busy", "straight line"
_COLOURS = {REACHED: "#0072B2", BUSY: "#D55E00", STRAIGHT: "#7F7F7F"}
CAPTION = (
    "Medians over blocks. Throughput: of the cell's highest. Processors busy: of all the kernel "
    "shows, hardware threads included, for all processes. Straight line: throughput with the "
    "fewest clients times clients. Where throughput has peaked while processors are not "
    "all busy, the busy share understates how much of the machine is used."
)


def draw(analysis: Analysis, *, name: str) -> Chart:
    """Nothing to show with a single number of clients."""
    rows = tuple(_rows(analysis)) if len(analysis.clients) > 1 else ()
    several = len({row["cell"] for row in rows}) > 1
    axis = alt.Axis(values=list(analysis.clients), format="d", labelOverlap=True)
    strokes = alt.Legend(symbolType="stroke", symbolSize=500, symbolStrokeColor="gray")
    drawing = (
        alt.Chart(named())
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("clients:Q", title="clients", axis=axis),
            y=alt.Y("percent:Q", title="percent", scale=alt.Scale(domain=[0, 100], clamp=True)),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
            ),
            strokeDash=alt.StrokeDash(
                "cell:N",
                title=None,
                sort=None,
                legend=strokes if several else None,
            ),
            tooltip=[
                alt.Tooltip("cell:N"),
                alt.Tooltip("clients:Q"),
                alt.Tooltip("what:N"),
                alt.Tooltip("percent:Q", format=".1f"),
            ],
        )
    )
    title = "Throughput and busy processors by clients"
    return Chart(name, title, CAPTION, drawing, rows, height=340)


def _rows(analysis: Analysis) -> Iterator[Row]:
    by_cell: dict[str, list[Point]] = {}
    for point in analysis.points:
        by_cell.setdefault(point.label, []).append(point)
    for measured in filter(None, (by_load(points, analysis) for points in by_cell.values())):
        highest = max(load.rate for load in measured)
        first, least = measured[0].point, measured[0].rate
        yield _row(first, STRAIGHT, least / highest)
        end = min(first.clients * highest / least, max(analysis.clients))
        yield {**_row(first, STRAIGHT, least / highest * end / first.clients), "clients": end}
        for load in measured:
            yield _row(load.point, REACHED, load.rate / highest)
            if load.busy is not None:
                yield _row(load.point, BUSY, load.busy)


def _row(point: Point, what: str, share: float) -> Row:
    return {
        "cell": point.label,
        "clients": point.clients,
        "what": what,
        "percent": 100 * share,
    }
