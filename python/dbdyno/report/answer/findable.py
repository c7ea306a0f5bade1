"""The effect that a study would have found where its comparison is open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.terms.wording import WIDE, clients_text, number, percent
from dbdyno.stats import Judgement, NotComparable, would_be_found

LEVEL = 0.05

SMALLEST = "Smallest difference that this run could reliably detect"
"""With a chance of 80 %."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A comparison without an answer, and the smallest effect that would have given it one."""

    name: str
    clients: int
    size: float
    """In logarithms; of shares their difference."""


def findable(results: Iterable[Comparison | MainEffect], analysis: Analysis) -> str:
    """Which change would have been found, at 80 %, in those of `told` that are open; a sentence,
    or empty where all have their answer or nothing is known of the noise."""
    found = list(_open(results, analysis))
    if not found:
        return ""
    least, most = (choose(found, key=lambda result: result.size) for choose in (min, max))
    of_shares = analysis.metric.share
    if least.size > (1 if of_shares else math.log(WIDE)):
        widest = "100\u202fpoints" if of_shares else f"{WIDE:.0f} times"
        return f" Not even a difference of {widest} could reliably be detected by this run."
    small, large = (_size(extreme.size, of_shares=of_shares) for extreme in (least, most))
    if small == large:
        return f" {SMALLEST}: {small}."
    names = _told_apart(least, most, several_loads=len(analysis.clients) > 1)
    return f" {SMALLEST}: {small} ({names[0]}) to {large} ({names[1]})."


def _open(results: Iterable[Comparison | MainEffect], analysis: Analysis) -> Iterator[_Open]:
    for result in results:
        effect = result.judgement.effect
        if result.judgement.verdict.definite or isinstance(effect, NotComparable):
            continue
        if isinstance(result, MainEffect):
            level = _level([other.judgement for other in analysis.main_effects])
            yield _Open(result.level, result.clients, would_be_found(effect, level))
        else:
            level = _level([other.judgement for other in analysis.comparisons])
            yield _Open(result.point.label, result.point.clients, would_be_found(effect, level))


def _level(family: Sequence[Judgement]) -> float:
    """The p that one more of the family needs to count as found, after Benjamini and Hochberg:
    (changes found + 1) / comparisons of 5 %."""
    known = [member.p_adjusted for member in family if member.p_adjusted is not None]
    return LEVEL * min(1.0, (sum(p < LEVEL for p in known) + 1) / len(known))


def _size(size: float, *, of_shares: bool) -> str:
    if of_shares:
        return f"{math.ceil(100 * size)}\u202fpoints" if size <= 1 else "more than 100\u202fpoints"
    if size > math.log(WIDE):
        return f"more than {WIDE:.0f} times"
    return percent(math.expm1(size)) if size < math.log(2) else f"{number(math.exp(size), 2)} times"


def _told_apart(smaller: _Open, other: _Open, *, several_loads: bool) -> tuple[str, str]:
    """By what they differ in."""
    if smaller.name == other.name:
        return clients_text(smaller.clients), clients_text(other.clients)
    if smaller.clients == other.clients or not several_loads:
        return smaller.name, other.name
    first, second = (
        f"{result.name} · {clients_text(result.clients)}" for result in (smaller, other)
    )
    return first, second
