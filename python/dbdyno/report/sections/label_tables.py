"""Times of events by the label that a script gives them, and of statements by their class."""

from collections.abc import Iterator

from dbdyno.model import Subject
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.report.sections.comparison_tables import (
    LEAD,
    lead,
)
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number


def labels_table(analysis: Analysis) -> Table:
    """The times of each group's events, by the names the script gives them; block by block."""
    rows: list[tuple[Value, ...]] = []
    for point, figures, name, time, found in _times(analysis, "event"):
        group, _, event = name.partition("/")
        events = figures.summary.events_by_label.get(name)
        rate = None if events is None else events / figures.summary.window_s
        rows.append((*lead(point), figures.block, group, event, time, rate, *found))
    columns = (
        *LEAD,
        Column("Block", "block", count),
        Column("Group", "group"),
        Column("Event", "event"),
        Column("Time", "time"),
        Column("Events/s", "events_per_s", number),
        *_TIMES,
    )
    return Table("labels", "Times of events by group and label", columns, tuple(rows))


def statements_table(analysis: Analysis) -> Table:
    """The times of each class of statements, block by block."""
    rows: list[tuple[Value, ...]] = []
    for point, figures, name, time, found in _times(analysis, "statement"):
        rows.append((*lead(point), figures.block, name, time, *found))
    columns = (
        *LEAD,
        Column("Block", "block", count),
        Column("Class", "class"),
        Column("Time", "time"),
        *_TIMES,
    )
    return Table("statements", "Times of statements by class", columns, tuple(rows))


_TIMES = (
    Column("min, µs", "min_us", number),
    Column("Mean, µs", "mean_us", number),
    Column("p50, µs", "p50_us", number),
    Column("p99, µs", "p99_us", number),
    Column("max, µs", "max_us", number),
)


def _times(
    analysis: Analysis, of: Subject
) -> Iterator[tuple[Point, BlockFigures, str, str, tuple[float | None, ...]]]:
    """Point, block, label, time, and its figures; summaries of earlier versions have no minimum."""
    for point in analysis.points:
        for figures in point.blocks:
            for tag, times in sorted(figures.summary.latency_by_label_us.items()):
                subject, _, rest = tag.partition(".")
                prefix, _, time = rest.rpartition(".")
                if subject == of and times:
                    found = tuple(times.get(name) for name in ("min", "mean", "p50", "p99", "max"))
                    yield point, figures, prefix, time, found
