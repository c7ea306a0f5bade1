"""Blocks of turns: cells driven alternately, seconds apart, within each block.

Two levels of noise: between the turns of a block (the machine), and between blocks (data layout,
start-up, memory placement), which no number of turns of one block can average out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dbdyno.stats.paired import NotComparable, PairedEffect, Within, effect_of

Array = NDArray[np.float64]

LEAST_TURNS = 6
"""Turns of a single block below which nothing can be said of how they depend on one another."""

LEAST_DEGREES = 10
"""Pairs beyond one a block below which an elasticity would be guesswork."""

MOST_ELASTIC = 1.5
"""A load gains no more by faster processors, but for chance; nor does it lose."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """A block's pairs of turns, baseline and candidate, in the order of time."""

    baseline: ArrayLike
    """What a turn did a second; 0 where it did nothing."""
    candidate: ArrayLike
    speeds: tuple[ArrayLike, ArrayLike] | None = None
    """How fast the processors were during the baseline's and the candidate's turns, in any unit
    above 0; `None`: not measured in all of them."""

    def ratios(self) -> Array:
        """Each pair's share in ln(candidate / baseline) of the whole block, of which it is the
        mean: ln(B/A) + bⱼ/B − aⱼ/A, where A and B are the means (linearised ratio; Cochran,
        Sampling Techniques, 6.4). So a turn in which nothing ended weighs as what it is, a stall,
        where its own ratio would have no logarithm."""
        return _ratios(self.baseline, self.candidate)

    def speed_ratios(self) -> Array | None:
        """The same of the processors' speed."""
        return None if self.speeds is None else _ratios(*self.speeds)


def _ratios(baseline: ArrayLike, candidate: ArrayLike) -> Array:
    a, b = np.asarray(baseline, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if not (a.size and a.mean() > 0 < b.mean()):
        return np.full(a.size, np.nan)
    ratios: Array = math.log(b.mean() / a.mean()) + b / b.mean() - a / a.mean()
    return ratios


@dataclass(frozen=True, slots=True)
class TurnsEffect:
    """An effect from blocks of turns, and where its noise comes from. Logarithms throughout."""

    effect: PairedEffect
    turns: tuple[int, ...]
    """Pairs of turns, a figure a block."""
    within_sd: float
    """Standard deviation of the pairs of one block."""
    between_sd: float
    """Standard deviation between blocks beside what their turns explain; 0 for one block."""
    one_set_up: bool
    """A single block: the answer holds for this one set-up."""
    elasticity: float | None = None
    """By how much the load gained per gain in the processors' speed, [0, `MOST_ELASTIC`]: what the
    pairs are adjusted by. `None`: they are as measured."""
    explained: float = 0.0
    """Share of the pairs' variance within blocks that the adjustment removed, [0, 1]."""

    @property
    def between_share(self) -> float:
        """Share of the effect's variance that only more blocks would lessen, [0, 1]."""
        turns = len(self.turns) / sum(1 / n for n in self.turns)
        between, within = self.between_sd**2, self.within_sd**2 / turns
        return between / (between + within) if between + within > 0 else 0.0

    @property
    def blocks_help_more(self) -> bool:
        """More blocks would lessen the noise more than longer blocks."""
        return self.between_share > 0.5


def turns_of_blocks(blocks: Sequence[Pairs]) -> TurnsEffect | NotComparable:
    """The effect from each block's pairs of turns, adjusted for the processors' speed where every
    block knows it (analysis of covariance; Fisher, Statistical Methods for Research Workers, 49.1).

    The elasticity β is that of the deviations from the blocks' means, all blocks together: the
    slope of the pairs' ratios on those of speed. Each pair is then its ratio − β · its speed's, so
    that its mean is what equal speed would have given. Speed is measured by work that has nothing
    to do with what is compared, so an effect can't hide in it.
    """
    ratios = [pairs.ratios() for pairs in blocks]
    speeds = [pairs.speed_ratios() for pairs in blocks]
    known = [speed for speed in speeds if speed is not None]
    if len(known) < len(blocks):
        return turns_effect(ratios)
    found = _elasticity(ratios, known)
    if found is None:
        return turns_effect(ratios)
    elasticity, explained = found
    adjusted = [ratio - elasticity * speed for ratio, speed in zip(ratios, known, strict=True)]
    effect = turns_effect(adjusted, fitted=1)
    if isinstance(effect, NotComparable):
        return effect
    return replace(effect, elasticity=elasticity, explained=explained)


def _elasticity(ratios: Sequence[Array], speeds: Sequence[Array]) -> tuple[float, float] | None:
    """β and the share of variance that it explains; `None`: too few pairs, or nothing varies."""
    if sum(ratio.size - 1 for ratio in ratios) < LEAST_DEGREES:
        return None
    y = np.concatenate([ratio - ratio.mean() for ratio in ratios])
    x = np.concatenate([speed - speed.mean() for speed in speeds])
    squares = float(x @ x)
    if not (np.isfinite(y).all() and np.isfinite(x).all() and squares > 0 < float(y @ y)):
        return None
    elasticity = min(MOST_ELASTIC, max(0.0, float(x @ y) / squares))
    left = y - elasticity * x
    return elasticity, 1 - float(left @ left) / float(y @ y)


def turns_effect(blocks: Sequence[ArrayLike], *, fitted: int = 0) -> TurnsEffect | NotComparable:
    """The mean of the blocks' means, from each block's ln(candidate / baseline) pair by pair.

    `fitted`: parameters estimated from these pairs beside the blocks' means.

    Two blocks or more: the t interval of the block means (n − 1 degrees), which holds both levels
    of noise whatever their shares, and however turns depend on one another; it is never narrower
    than that of the turns themselves (`Within.least_sd`). One block: the t
    interval of its pairs in the order of time, widened by their autocorrelation (`_correlated`);
    it says nothing of another set-up. Variances: mean squares of the one-way layout, with the
    harmonic mean of the turns where blocks differ in length (Searle, Linear Models, 9.9).
    """
    pairs = [np.asarray(block, dtype=np.float64) for block in blocks]
    pairs = [block for block in pairs if block.size]
    if not pairs:
        return NotComparable("no block has a pair of turns")
    if not all(np.isfinite(block).all() for block in pairs):
        return NotComparable("a side of a block did nothing, so no ratio exists")
    turns = tuple(block.size for block in pairs)
    within = _within_variance(pairs, fitted)
    if len(pairs) == 1:
        alone = _correlated(pairs[0])
        if isinstance(alone, NotComparable):
            return alone
        return TurnsEffect(alone, turns, math.sqrt(within), 0.0, one_set_up=True)
    means = np.array([block.mean() for block in pairs])
    explained = within * float(np.mean([1 / n for n in turns]))
    effect = effect_of(means, Within(explained, (sum(turns) - len(turns) - fitted) / len(turns)))
    if isinstance(effect, NotComparable):
        return effect
    between = max(0.0, float(means.var(ddof=1)) - explained)
    return TurnsEffect(effect, turns, math.sqrt(within), math.sqrt(between), one_set_up=False)


def _within_variance(pairs: Sequence[Array], fitted: int) -> float:
    degrees = sum(block.size - 1 for block in pairs) - fitted
    squares = sum(float(np.square(block - block.mean()).sum()) for block in pairs)
    return squares / degrees if degrees > 0 else 0.0


def _correlated(pairs: Array) -> PairedEffect | NotComparable:
    """θ ± t(ν) · s/√n', n' = n(1 − ρ)/(1 + ρ), ν = n' − 1, for pairs that remember (AR(1)).

    ρ: lag-1 autocorrelation r, freed of its bias in short series, r + (1 + 3r)/n (Kendall 1954;
    Marriott and Pope 1954), in [0, 0.9]: a negative one narrows nothing.
    """
    n = pairs.size
    if n < LEAST_TURNS:
        return NotComparable(
            f"one block with {n} pairs of turns; at least {LEAST_TURNS} are needed"
        )
    deviations = pairs - pairs.mean()
    squares = float(np.square(deviations).sum())
    sd = math.sqrt(squares / (n - 1))
    if sd <= 1e-15 * max(1.0, abs(float(pairs.mean()))):
        return NotComparable("every pair of turns gave exactly the same ratio: no spread")
    r = float((deviations[1:] * deviations[:-1]).sum()) / squares
    rho = min(0.9, max(0.0, r + (1 + 3 * r) / n))
    effective = max(2.0, n * (1 - rho) / (1 + rho))
    return PairedEffect(
        differences=tuple(float(pair) for pair in pairs),
        blocks=1,
        log_effect=float(pairs.mean()),
        log_sd=sd,
        standard_error=sd / math.sqrt(effective),
        degrees=effective - 1,
        method="t over turns of one block",
    )


MOST_STOLEN = 0.05
"""Share of a turn's processor time given to others from which the turn is left out."""

MOST_SHARED = 0.25
"""Share of a turn's processor time given to others from which it is left out in any case."""

MOST_CHANGED = 0.2
"""Share by which the processors may slow down or speed up around a pair of turns."""

LEAST_LEFT = 0.25
"""Share of a block's pairs that stay however disturbed they were: the least disturbed."""


def stolen(shares: Sequence[float], what: str = "stolen") -> tuple[str | None, ...]:
    """For each pair of turns of a block why it is left out, for people; `None`: it counts.

    `shares`: of the processors' time that the hypervisor gave to others, or that was not given for
    another reason (`what`, a participle), in the turn of the pair that lost more, [0, 1]. The rule
    is fixed before anything is measured and knows nothing of it, so it can't favour a side. The
    least disturbed pairs stay, `LEAST_LEFT` of them, if they lost at most `MOST_SHARED`: a
    machine whose processors are always shared has no others.
    """
    most = min(MOST_SHARED, _limit(MOST_STOLEN, shares))
    return tuple(
        f"{100 * share:.0f}\u202f% of the processors' time was {what}" if share > most else None
        for share in shares
    )


def _limit(most: float, disturbances: Sequence[float]) -> float:
    """The disturbance up to which a pair stays: `most`, or that of the least disturbed pairs if it
    is more."""
    return max([most, *sorted(disturbances)[: math.ceil(LEAST_LEFT * len(disturbances))]])


def changed(speeds: Sequence[Sequence[float]]) -> tuple[str | None, ...]:
    """For each pair of turns of a block why it is left out, for people; `None`: it counts.

    `speeds`: how fast the processors did known work before and after both turns, in any unit;
    empty: not known. A pair is left out where the slowest is more than `MOST_CHANGED` below the
    fastest: something came or went between its sides. What slows down both sides alike stays. As
    with `stolen`, no result is known to the rule. The steadiest pairs always stay, `LEAST_LEFT` of
    them: a load may disturb every pair by itself (a server that goes on working after its turn).
    """
    drops = [1 - min(pair) / max(pair) if pair and max(pair) > 0 else 0.0 for pair in speeds]
    most = _limit(MOST_CHANGED, drops)
    return tuple(
        f"the processors' speed changed by {100 * drop:.0f}\u202f%" if drop > most else None
        for drop in drops
    )
