"""The cost of an event in CPU time, context switches, disk, log and network."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model import FIGURES, PER_EVENT
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.table import Column, Table, Value, estimated
from dbdyno.report.terms.wording import count, number


def operations_tables(analysis: Analysis) -> Iterator[Table]:
    """Only where something was counted; what no run has counted has no column."""
    columns = tuple(_column(name) for name in PER_EVENT)
    rows = tuple(
        (point.label, point.clients, *(_value(point, name) for name in PER_EVENT))
        for point in analysis.points
    )
    lead = (Column("Cell", "cell"), Column("Clients", "clients", count))
    table = Table("operations", "What an event cost", (*lead, *columns), rows).without_empty()
    if len(table.columns) > len(lead):
        yield table


def _column(name: str) -> Column:
    figure = FIGURES[name]
    title = figure.title.removesuffix(" per event")
    heading = f"{title}, {figure.unit}" if figure.unit else title
    return Column(heading, name, number, estimate=True)


def _value(point: Point, name: str) -> Value:
    mean = point.estimate(name)
    return estimated(mean) if mean else None
