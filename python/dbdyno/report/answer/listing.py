"""A list in place of a comparison: of which levels of a factor something is true, and how often."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.leading import Listing
from dbdyno.report.sections.outcomes import counts_of, share_name


def listed(listing: Listing, analysis: Analysis, *, name: str) -> str:
    """The levels without any such trial, then the others from the fewest on."""
    counts = {level: _count(listing.factor, level, analysis) for level in listing.levels}
    tried = {level: (n, trials) for level, (n, trials) in counts.items() if trials}
    clear = {level: trials for level, (n, trials) in tried.items() if not n}
    others = sorted((n / trials, level) for level, (n, trials) in tried.items() if n)
    told = []
    if clear:
        trials = sorted(set(clear.values()))
        many = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
        told.append(f"in none of {many} trials of {_and(list(clear))}")
    if others:
        told.append(
            "in "
            + _and([f"{tried[level][0]} of {tried[level][1]} of {level}" for _, level in others])
        )
    if missing := [level for level in listing.levels if level not in tried]:
        told.append(f"not measured of {_and(missing)}")
    return f"{name or analysis.metric.title}: {'; '.join(told)}."


def _count(factor: str, level: str, analysis: Analysis) -> tuple[int, int]:
    """Trials of a level that ended as the primary figure counts them, and all."""
    found, trials = 0, 0
    for point in analysis.points:
        if point.cell.levels.get(factor) == level:
            for outcome, events in counts_of(point).items():
                trials += events
                found += events if share_name(outcome) == analysis.metric_name else 0
    return found, trials


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
