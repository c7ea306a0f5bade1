"""A list in place of a comparison: how many trials of each level of a factor ended in a way."""

from __future__ import annotations

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.leading import Listing
from dbdyno.report.sections.outcomes import counts_of, share_name
from dbdyno.report.terms.wording import enumerated


def listed(listing: Listing, analysis: Analysis, *, name: str) -> str:
    """The levels without any such trial, then the others from the fewest on."""
    counts = {level: _count(listing.factor, level, analysis) for level in listing.levels}
    clear = {level: trials for level, (n, trials) in counts.items() if trials and not n}
    others = sorted((n / trials, level, n, trials) for level, (n, trials) in counts.items() if n)
    texts = []
    if clear:
        trials = sorted(set(clear.values()))
        many = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
        texts.append(f"none of {many} trials with {enumerated(list(clear))}")
    if others:
        shares = [f"{n} of {trials} with {level}" for _, level, n, trials in others]
        if not clear:  # What is counted is named once.
            shares[0] = shares[0].replace(" with ", " trials with ", 1)
        texts.append(enumerated(shares))
    if missing := [level for level, (_, trials) in counts.items() if not trials]:
        texts.append(f"not measured with {enumerated(missing)}")
    return f"{name or analysis.metric.title}: {'; '.join(texts)}."


def _count(factor: str, level: str, analysis: Analysis) -> tuple[int, int]:
    """Trials of a level that ended as the primary figure counts them, and all."""
    found, trials = 0, 0
    for point in analysis.points:
        if point.cell.levels.get(factor) == level:
            for outcome, events in counts_of(point).items():
                trials += events
                found += events if share_name(outcome) == analysis.metric_name else 0
    return found, trials
