"""Outcomes of events, if their generator classifies them: counts and shares with intervals."""

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import (
    MISSING,
    count,
    points_text,
    sentence_case,
    share_text,
    verdict_word,
)
from dbdyno.stats import Share, ShareEffect

_LEDGER = "ledger"
"""The generator whose trials are crashes: what none of them lost is bounded as usual there."""


def outcome_tables(analysis: Analysis) -> tuple[Table, ...]:
    """None where no generator classes its events, and no share decides."""
    names = _names(analysis)
    classed = (outcomes_table(analysis, names),) if names else ()
    compared = any(isinstance(c.judgement.effect, ShareEffect) for c in analysis.comparisons)
    return (*classed, *((shares_table(analysis),) if compared else ()))


def _names(analysis: Analysis) -> tuple[str, ...]:
    """All classes that any trial ended in, in the order in which generators tell them; the one
    that decides first, and always."""
    found: dict[str, int] = {}
    for point in analysis.points:
        for figures in point.blocks:
            for name, events in figures.summary.outcomes.items():
                found[name] = found.get(name, 0) + events
    decides = {name: share_name(name) == analysis.metric_name for name in found}
    seen = [name for name in found if found[name] or decides[name]]
    return tuple(sorted(seen, key=lambda name: not decides[name]))


def share_name(outcome: str) -> str:
    """The figure that says its share."""
    return f"{outcome.replace(' ', '_')}_share"


def counts_of(point: Point) -> dict[str, int]:
    """Events of the counted blocks, by what became of them."""
    counts: dict[str, int] = {}
    for figures in point.counted:
        for name, events in figures.summary.outcomes.items():
            counts[name] = counts.get(name, 0) + events
    return counts


def outcomes_table(analysis: Analysis, names: tuple[str, ...]) -> Table:
    """A row a cell, two columns an outcome: how many, and an interval of the share: Wilson's, of a
    ledger the rule of three where no crash or every one ended so."""
    ledger = any(point.cell.generator == _LEDGER for point in analysis.points)
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        counts = counts_of(point)
        trials = sum(counts.values())
        row: list[Value] = [point.label, trials]
        for name in names:
            found = counts.get(name, 0)
            row += [found, _interval(Share(found, trials), ledger=ledger) if trials else None]
        rows.append(tuple(row))
    columns = [Column("Cell", "cell"), Column("Trials", "trials", count)]
    for name in names:
        columns += [
            Column(sentence_case(name), name.replace(" ", "_"), count),
            Column("in %", f"{share_name(name)}_95", whole_percent, pair=True),
        ]
    title = "What became of the trials: counts, and Wilson's 95 % intervals of the shares"
    title += "; where there are none, at most 3/n" if ledger else ""
    return Table("outcomes", title, tuple(columns), tuple(rows))


def _interval(share: Share, *, ledger: bool) -> tuple[float, float]:
    return share.bound() if ledger else share.interval()


def whole_percent(share: float) -> str:
    """A share in whole percent, without the sign."""
    return f"{100 * share:.0f}"


def shares_table(analysis: Analysis) -> Table:
    """The deciding share against the baseline's, as a difference."""
    rows: list[tuple[Value, ...]] = []
    for comparison in analysis.comparisons:
        effect = comparison.judgement.effect
        word = verdict_word(comparison.judgement.verdict, analysis.metric)
        if not isinstance(effect, ShareEffect):
            rows.append((comparison.point.label, comparison.baseline.label, *[None] * 5, word))
            continue
        rows.append(
            (
                comparison.point.label,
                comparison.baseline.label,
                effect.candidate.value,
                effect.baseline.value,
                effect.difference,
                effect.interval(),
                comparison.judgement.p_adjusted,
                word,
            )
        )
    columns = (
        Column("Cell", "cell"),
        Column("Baseline", "baseline"),
        Column("Share", "share", share_text),
        Column("Baseline's", "share_baseline", share_text),
        Column("Difference", "difference", points_text),
        Column("95 % interval", "difference_95", points_text, pair=True),
        Column("p, adjusted", "p_adjusted", lambda p: f"{p:.2g}" if p is not None else MISSING),
        Column("Verdict", "verdict"),
    )
    title = f"{analysis.metric.title} against the baseline: differences of shares"
    return Table("shares", title, columns, tuple(rows))
