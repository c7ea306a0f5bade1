"""The table of all stalls, with what each coincides with."""

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.cycles import stalls
from dbdyno.report.sections.comparison_tables import LEAD, lead
from dbdyno.report.terms.table import Column, Table
from dbdyno.report.terms.wording import count, number, percent


def stall_tables(analysis: Analysis) -> Iterator[Table]:
    """Where any block had one."""
    rows = tuple(
        (
            *lead(point),
            figures.block,
            stall.event.start_s,
            stall.event.duration_s,
            stall.event.depth,
            stall.cycle,
            stall.p,
        )
        for point, figures, found in stalls(analysis)
        for stall in found
    )
    if rows:
        columns = (
            *LEAD,
            Column("Block", "block", count),
            Column("From, s", "start_s", number),
            Column("Length, s", "duration_s", number),
            Column("Below the median by", "depth", percent),
            Column("Coincides with", "coincides_with"),
            Column("p", "p", number),
        )
        yield Table("stalls", "Stalls, and the engine's own cycles", columns, rows)
