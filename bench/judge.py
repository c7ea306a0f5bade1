"""From measurements to figures with their spread, and to budgets met or missed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.conduct import Measured
from bench.row import Budget, Cell
from dbdyno import stats

_LEAST_TIMES = 3
"""Measured fewer times, nothing is said to be met or missed."""


class Verdict(StrEnum):
    """Whether a budget is met."""

    MET = "met"
    MISSED = "**missed**"
    UNCLEAR = "can't tell"


@dataclass(frozen=True, slots=True)
class Judged:
    """A budget and what was found."""

    budget: Budget
    value: float
    """The ratio to the baseline, or the figure itself where there is no baseline."""
    low: float
    high: float
    """95 % interval of the paired ratio; least and greatest block where it can't be given."""
    blocks: int
    verdict: Verdict


def values(measured: Measured, cell: Cell, metric: str) -> Mapping[int, float]:
    """A figure of a cell by block."""
    return {
        found.block: found.figures[metric]
        for found in measured.measurements
        if found.cell == cell and metric in found.figures
    }


def judge(measured: Measured) -> Sequence[Judged]:
    """All budgets of a row whose cells were measured."""
    judged = []
    for budget in measured.row.budgets:
        candidate = values(measured, budget.candidate, budget.metric)
        if budget.baseline is None:
            found = list(candidate.values())
            if found:
                spread = stats.spread(found)
                whole = (spread.low, spread.high)
                judged.append(_judged(budget, spread.median, whole, spread.blocks))
            continue
        baseline = values(measured, budget.baseline, budget.metric)
        blocks = sorted(candidate.keys() & baseline.keys())
        if blocks:
            pairs = [(baseline[block], candidate[block]) for block in blocks]
            judged.append(_compared(budget, pairs))
    return judged


def _compared(budget: Budget, pairs: Sequence[tuple[float, float]]) -> Judged:
    effect = stats.paired_effect([before for before, _ in pairs], [after for _, after in pairs])
    if isinstance(effect, stats.NotComparable):
        spread = stats.spread([after / before for before, after in pairs])
        return _judged(budget, spread.median, (spread.low, spread.high), spread.blocks)
    return _judged(budget, effect.ratio, effect.ratio_interval, effect.blocks)


def _judged(budget: Budget, value: float, interval: tuple[float, float], blocks: int) -> Judged:
    verdict = verdict_of(interval, (budget.at_least, budget.at_most), blocks)
    return Judged(budget, value, *interval, blocks, verdict)


def verdict_of(interval: tuple[float, float], allowed: tuple[float, float], times: int) -> Verdict:
    """Met where the whole interval lies within what is allowed, missed where none of it does.

    `times`: how often the figure was measured.
    """
    low, high = interval
    least, most = allowed
    if times < _LEAST_TIMES:
        return Verdict.UNCLEAR
    if least <= low and high <= most:
        return Verdict.MET
    if high < least or low > most:
        return Verdict.MISSED
    return Verdict.UNCLEAR
