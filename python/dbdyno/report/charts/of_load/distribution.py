"""How response times are distributed: of each cell the share of events that took no longer, over
the time on a logarithmic axis."""

from collections.abc import Iterator

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    clients_text,
    curves,
    levels,
    log_ticks,
)
from dbdyno.report.sections.comparison_tables import LEAD, lead
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, time_unit
from dbdyno.stats import percentiles

RANKS = (0.0, 0.1, 0.5, *(float(rank) for rank in range(1, 100)), 99.5, 99.9, 99.99, 100.0)
"""Percentiles that the curve goes through."""
TOLD = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9)
"""Those of the table."""
CAPTION = (
    "From the stored histograms, merged over all counted blocks, exact to 0.1 % of the time. Where "
    "a curve is steep many events took about that long, where it is flat hardly any did."
)


def draw(analysis: Analysis, *, name: str) -> Chart:
    """A curve a cell, one load at a time; nothing where no histogram was stored."""
    rows = tuple(row for point in analysis.points for row in _rows(point))
    drawing = curves(
        analysis,
        alt.X(
            "ms:Q",
            title="response time, ms (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~r", values=log_ticks(float(str(r["ms"])) for r in rows)),
        ),
        alt.Y(
            "rank:Q",
            title="percent of events at or below",
            scale=alt.Scale(domain=[0, 100]),
        ),
        "step-after",
        [
            alt.Tooltip("rank:Q", title="percent at or below"),
            alt.Tooltip("ms:Q", format=",.4~g"),
        ],
    ).encode(order=alt.Order("rank:Q"))
    title = "Response times: share of events at or below"
    table = _table(analysis)
    return Chart(
        name, title, CAPTION, drawing, rows, "clients", section="Response time", table=table
    )


def _rows(point: Point) -> Iterator[Row]:
    if point.latency is None:
        return
    first, variant = levels(point)
    for rank, time_ns in zip(RANKS, percentiles(point.histogram, RANKS), strict=True):
        yield {
            "cell": point.label,
            "colour": first,
            "variant": variant,
            "rank": rank,
            "ms": time_ns / 1e6,
            "key": str(point.clients),
            "view": clients_text(point.clients),
        }


def _table(analysis: Analysis) -> Table:
    unit, ns = time_unit([p.latency.p50 for p in analysis.points if p.latency])
    values: list[tuple[Value, ...]] = []
    for point in analysis.points:
        if point.latency is not None:
            times = (time / 1000 for time in percentiles(point.histogram, TOLD))
            values.append((*lead(point), *times, point.latency.count))

    def show(us: float) -> str:
        return number(us * 1000 / ns)

    columns = (
        *LEAD,
        *(Column(f"p{r:g}, {unit}", f"p{r:g}_us".replace(".", "_"), show) for r in TOLD),
        Column("Events", "events", count),
    )
    title = "Distribution of response times, merged over blocks"
    return Table("distribution", title, columns, tuple(values))
