"""From effects and the smallest effect that matters to verdicts in one word, a family together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from dbdyno.stats.multiple import benjamini_hochberg
from dbdyno.stats.paired import NotComparable, PairedEffect, effect_of, tost_p
from dbdyno.stats.power import Advice, advise
from dbdyno.stats.shares import ShareEffect

LEVEL = 0.05


class Verdict(StrEnum):
    """What the blocks say about the candidate against its baseline."""

    BETTER = "better"
    WORSE = "worse"
    SMALL = "changed, but small"
    EQUIVALENT = "equivalent"
    SUGGESTIVE = "suggestive"
    CANNOT_TELL = "cannot tell"

    @property
    def definite(self) -> bool:
        """An answer: neither open nor only suggested."""
        return self not in (Verdict.SUGGESTIVE, Verdict.CANNOT_TELL)


class Size(StrEnum):
    """How a change compares with the smallest effect that matters (δ)."""

    ABOVE = "more than δ"
    """The whole 90 % interval lies beyond δ."""
    OPEN = "more or less than δ"
    BELOW = "less than δ"
    """The whole 90 % interval lies inside ±δ."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on."""

    verdict: Verdict
    effect: PairedEffect | ShareEffect | NotComparable
    smallest_effect: float
    """Relative: 0.02 is 2 %; of shares, the difference itself."""
    p_adjusted: float | None = None
    """Benjamini–Hochberg over the family; `None` where nothing could be compared."""
    alone: Verdict = Verdict.CANNOT_TELL
    """What the comparison would say if it were the only one: behind `SUGGESTIVE`."""
    size: Size = Size.OPEN
    deciding: tuple[int, ...] = ()
    """Places of the blocks without any one of which `alone` would be another."""

    @property
    def advice(self) -> Advice | None:
        """What further blocks would bring; `None` where the verdict is definite."""
        if self.verdict.definite or not isinstance(self.effect, PairedEffect):
            return None
        return advise(self.effect, margin_of(self.smallest_effect))


def margin_of(smallest_effect: float) -> float:
    """δ in logarithms: ln(1 + smallest_effect)."""
    if smallest_effect <= 0:
        raise ValueError(f"smallest_effect must be above 0, got {smallest_effect}")
    return math.log1p(smallest_effect)


def judge(
    effect: PairedEffect | NotComparable, *, smallest_effect: float, higher_is_better: bool
) -> Judgement:
    """The verdict of a family of one; see `judge_family`."""
    (judgement,) = judge_family(
        [effect], smallest_effect=smallest_effect, higher_is_better=higher_is_better
    )
    return judgement


def judge_family(
    effects: Sequence[PairedEffect | NotComparable],
    *,
    smallest_effect: float,
    higher_is_better: bool,
) -> tuple[Judgement, ...]:
    """Verdicts of comparisons that answer one question, at a false-discovery rate of 5 %.

    Both tests of each comparison, "no change" (t) and "outside ±δ" (TOST), are adjusted over the
    family after Benjamini and Hochberg. With adjusted p below 0.05:
    better or worse: there is a change; its direction is the effect's sign, its size `size`;
    changed, but small: there is a change, and it lies inside ±δ;
    equivalent: it lies inside ±δ.
    Suggestive: one of these holds only without the adjustment. Cannot tell: anything else.
    """
    margin = margin_of(smallest_effect)
    known = [effect for effect in effects if isinstance(effect, PairedEffect)]
    change = iter(benjamini_hochberg([effect.p for effect in known]).tolist())
    inside = iter(benjamini_hochberg([tost_p(effect, margin) for effect in known]).tolist())
    judgements = []
    for effect in effects:
        if isinstance(effect, NotComparable):
            judgements.append(Judgement(Verdict.CANNOT_TELL, effect, smallest_effect))
            continue
        p_change, p_inside = next(change), next(inside)
        alone = _verdict(effect, effect.p, tost_p(effect, margin), higher_is_better)
        verdict = _verdict(effect, p_change, p_inside, higher_is_better)
        if verdict is Verdict.CANNOT_TELL and alone.definite:
            verdict = Verdict.SUGGESTIVE
        judgements.append(
            Judgement(
                verdict=verdict,
                effect=effect,
                smallest_effect=smallest_effect,
                p_adjusted=p_change,
                alone=alone,
                size=_size(effect, margin),
                deciding=_deciding(effect, alone, margin, higher_is_better),
            )
        )
    return tuple(judgements)


def judge_shares(
    effects: Sequence[ShareEffect | NotComparable],
    *,
    smallest_effect: float,
    higher_is_better: bool,
) -> tuple[Judgement, ...]:
    """The same of shares: δ is a difference of shares, and trials take the place of blocks."""
    known = [effect for effect in effects if isinstance(effect, ShareEffect)]
    change = iter(benjamini_hochberg([effect.p for effect in known]).tolist())
    beyond = [effect.p_outside(smallest_effect) for effect in known]
    inside = iter(zip(beyond, benjamini_hochberg(beyond).tolist(), strict=True))
    judgements = []
    for effect in effects:
        if isinstance(effect, NotComparable):
            judgements.append(Judgement(Verdict.CANNOT_TELL, effect, smallest_effect))
            continue
        p_change, (p_beyond, p_inside) = next(change), next(inside)
        good = (effect.difference > 0) == higher_is_better
        alone = _word(effect.p, p_beyond, good)
        verdict = _word(p_change, p_inside, good)
        if verdict is Verdict.CANNOT_TELL and alone.definite:
            verdict = Verdict.SUGGESTIVE
        low, high = effect.interval(0.90)
        size = _size_of(low, high, smallest_effect)
        judgements.append(Judgement(verdict, effect, smallest_effect, p_change, alone, size))
    return tuple(judgements)


def _verdict(
    effect: PairedEffect, p_change: float, p_inside: float, higher_is_better: bool
) -> Verdict:
    return _word(p_change, p_inside, (effect.log_effect > 0) == higher_is_better)


def _word(p_change: float, p_inside: float, good: bool) -> Verdict:
    changed, inside = p_change < LEVEL, p_inside < LEVEL
    if changed and inside:
        return Verdict.SMALL
    if changed:
        return Verdict.BETTER if good else Verdict.WORSE
    return Verdict.EQUIVALENT if inside else Verdict.CANNOT_TELL


def _size(effect: PairedEffect, margin: float) -> Size:
    return _size_of(effect.low90, effect.high90, margin)


def _size_of(low: float, high: float, margin: float) -> Size:
    """From the 90 % interval."""
    if -margin < low and high < margin:
        return Size.BELOW
    return Size.ABOVE if low > margin or high < -margin else Size.OPEN


def _deciding(
    effect: PairedEffect, alone: Verdict, margin: float, higher_is_better: bool
) -> tuple[int, ...]:
    """Leaves out each block in turn. Fewer than three say nothing: one block holds no spread."""
    if effect.blocks < 3 or len(effect.differences) != effect.blocks:
        return ()
    d = np.asarray(effect.differences)
    verdicts = []
    for place in range(d.size):
        without = effect_of(np.delete(d, place), effect.within)
        verdict = Verdict.CANNOT_TELL
        if isinstance(without, PairedEffect):
            without = replace(without, standard_error=effect.wider * without.standard_error)
            verdict = _verdict(without, without.p, tost_p(without, margin), higher_is_better)
        if verdict is not alone:
            verdicts.append(place)
    return tuple(verdicts)
