"""Errors that a study declares as part of its load, in a sentence of the first screen."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.contrast import level_names
from dbdyno.report.material.faults import tried_word
from dbdyno.report.terms.wording import percent

MOST_NAMED = 3
"""Cells whose share is named."""


def expected_errors(analysis: Analysis) -> Iterator[str]:
    """How many of what was tried failed as the study expects, cell by cell; the highest shares
    first. Nothing where no such error was met."""
    shares: dict[str, float] = {}
    codes: dict[str, None] = {}
    for point in analysis.points:
        declared = sum(figures.errors.expected for figures in point.counted)
        tried = sum(figures.errors.tried for figures in point.counted)
        codes |= {code: None for figures in point.counted for code in figures.errors.declared}
        if declared and tried:
            name = level_names(point.cell.levels, analysis)
            shares[name] = max(shares.get(name, 0.0), declared / tried)
    if not shares:
        return
    summaries = [figures.summary for point in analysis.points for figures in point.counted]
    word = tried_word(summaries[0].generator)
    highest = sorted(shares.items(), key=lambda entry: -entry[1])
    listed = [f"{percent(share)} with {name}" for name, share in highest[:MOST_NAMED]]
    listed += ["fewer with others"] if len(highest) > MOST_NAMED else []
    errors = f"errors that the study expects ({', '.join(codes)})"
    yield f"{errors}: {', '.join(listed)}, of all {word}."
