"""What faults did to clients, in a sentence for the first screen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.sections.outages import faults_of
from dbdyno.report.terms.wording import count, number

_MOST_CELLS = 3
"""More are in the table of outages alone."""


def outage_notes(analysis: Analysis) -> Iterator[str]:
    """How long nobody could write, cell by cell, and what was lost; nothing without faults."""
    points = [point for point in analysis.points if faults_of(point)]
    if not points:
        return
    cells = []
    for point in points[:_MOST_CELLS]:
        lengths = [fault.outage_ms["write"] / 1e3 for fault in faults_of(point)]
        median = float(np.quantile(lengths, 0.5, method="inverted_cdf"))
        where = f"with {point.label} " if len(points) > 1 else ""
        longest = number(max(lengths))
        cells.append(f"{where}{number(median)} s in the median and {longest} s at most")
    faults = sum(len(faults_of(point)) for point in points)
    lost = sum(
        int(block.summary.figures.get("lost_commits", 0))
        for point in points
        for block in point.counted
    )
    missing = f"{count(lost)} acknowledged commits are" if lost else "nothing acknowledged is"
    yield f"{count(faults)} faults: nobody could write for {', '.join(cells)}; {missing} lost."
