"""What faults did to clients, in a sentence for the first screen."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model.fault import at_rank
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.sections.outages import commits, faults_of, outages_s
from dbdyno.report.terms.wording import count, number

_MOST_CELLS = 3
"""Further cells are in the table of outages only."""


def outage_notes(analysis: Analysis) -> Iterator[str]:
    """How long nobody could write, cell by cell, and what was lost; nothing without faults."""
    points = [point for point in analysis.points if faults_of(point)]
    if not points:
        return
    cells = []
    for point in points[:_MOST_CELLS]:
        lengths = outages_s(faults_of(point), "write")
        median = at_rank(lengths, 0.5)
        where = f"with {point.label} " if len(points) > 1 else ""
        longest = number(max(lengths))
        lost = commits(point, "lost")
        missing = f" ({count(lost)} acknowledged commits lost)" if lost else ""
        cells.append(f"{where}{number(median)} s in the median and {longest} s at most{missing}")
    faults = sum(len(faults_of(point)) for point in points)
    kept = (
        "" if any(commits(point, "lost") for point in points) else "; nothing acknowledged is lost"
    )
    yield f"{count(faults)} faults: nobody could write for {', '.join(cells)}{kept}."
