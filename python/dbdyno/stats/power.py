"""What a design can see: the power of the rule in use, and what more blocks would bring."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dbdyno.stats.distributions import noncentral_t_below, t_percentile
from dbdyno.stats.paired import PairedEffect, rule
from dbdyno.stats.root import root
from dbdyno.stats.shares import ShareEffect, difference_found
from dbdyno.stats.shares_of_blocks import BlockShareEffect

POWER = 0.8
MOST_BLOCKS = 40
"""Further blocks beyond which the advice is a quieter machine, not patience."""

_WORLDS, _STUDIES = 300, 100


@dataclass(frozen=True, slots=True)
class Advice:
    """How many further blocks would settle a comparison that is open, as far as can be told."""

    fewest: int | None
    """In the kinder fifth of the worlds that agree with the blocks; `None`: `MOST_BLOCKS` would
    not do in half of them."""
    most: int | None
    """In the harsher fifth; `None`: more than `MOST_BLOCKS`, or nobody knows after one block."""
    limit: float
    """Relative: smaller effects stay hidden even with `MOST_BLOCKS` further blocks."""


def power(log_sd: float, log_effect: float, blocks: int) -> float:
    """Chance that the 95 % t interval of `blocks` normal differences excludes no change.

    P(|T| > t(n−1, .975)), T noncentral t with n − 1 degrees and √n · effect / σ. [0.05, 1].
    """
    return _power(log_effect / log_sd * math.sqrt(blocks), blocks - 1, 0.05)


def _power(noncentrality: float, degrees: float, level: float) -> float:
    edge = t_percentile(1 - level / 2, degrees)
    above = 1 - noncentral_t_below(edge, degrees, noncentrality)
    below = noncentral_t_below(-edge, degrees, noncentrality)
    # scipy gives NaN far out in a tail, where the other one is all there is.
    return (0.0 if math.isnan(above) else above) + (0.0 if math.isnan(below) else below)


@lru_cache(maxsize=1024)
def _noncentrality(degrees: float, level: float) -> float:
    high = 4.0
    while _power(high, degrees, level) < POWER:
        high *= 2
    return root(lambda shift: _power(shift, degrees, level) - POWER, 1.0, high)


def detectable(log_sd: float, blocks: int) -> float:
    """The effect, in logarithms, that `blocks` (2 or more) find with a chance of 80 %."""
    return _noncentrality(blocks - 1, 0.05) * log_sd / math.sqrt(blocks)


def would_be_found(effect: PairedEffect | ShareEffect, level: float = 0.05) -> float:
    """The smallest effect that a study with this much noise finds with a chance of 80 %, in
    logarithms, or of shares their difference; [0, ∞). `level`: p below which it counts as found.

    Of ratios, and of shares compared over blocks: as `detectable`, by the standard error and its
    degrees of freedom. Of other shares: that of `difference_found`, up or down from the baseline's
    share, whichever is larger and can be.
    """
    if isinstance(effect, (PairedEffect, BlockShareEffect)):
        return _noncentrality(effect.degrees, level) * effect.standard_error
    ends = [end for end in difference_found(effect, level, POWER) if end is not None]
    return max(ends, default=math.inf)


def smallest_effect(within_sd: float, between_sd: float, *, pairs: int, blocks: int) -> float:
    """The relative effect that `blocks` (2 or more) of so many pairs of turns find with a chance of
    80 %: σ² = between² + within² / pairs, in logarithms (see `turns.py`)."""
    return math.expm1(detectable(math.sqrt(between_sd**2 + within_sd**2 / pairs), blocks))


def blocks_needed(log_sd: float, log_effect: float, *, most: int = 1000) -> int | None:
    """The fewest blocks that find `log_effect` with a chance of 80 %; `None`: more than `most`."""
    for blocks in range(2, most + 1):
        if detectable(log_sd, blocks) <= abs(log_effect):
            return blocks
    return None


@lru_cache(maxsize=1024)
def advise(effect: PairedEffect, margin: float, *, seed: int = 0) -> Advice:
    """Simulates the rule in use on worlds that agree with the blocks measured.

    A world: σ² = s²(n−1)/χ²(n−1), and no less than turns explain; true effect θ + σ/√n · z. In
    each, the fewest further blocks with which 80 % of simulated studies end with a verdict (the
    95 % interval excludes no change, or the 90 % interval lies inside ±margin). Range: the 20th
    to 80th percentile over the worlds. One block of turns says nothing of how set-ups differ, so
    that its range has a lower end only: σ² is what its turns explain.
    """
    rng = np.random.default_rng(seed)
    n, degrees = effect.blocks, effect.degrees
    known = 0.0 if effect.within is None else math.sqrt(effect.within.variance)
    sd = max(effect.standard_error * math.sqrt(n), known)
    sigma = sd * np.sqrt(degrees / rng.chisquare(degrees, _WORLDS))
    sigma = np.maximum(sigma, known)
    truth = effect.log_effect + sigma / math.sqrt(n) * rng.standard_normal(_WORLDS)
    needed = np.full(_WORLDS, np.inf)
    steps = sorted({round(x) for x in np.geomspace(1, MOST_BLOCKS, 14)}, reverse=True)
    for more in steps:
        blocks = n + more
        means = truth[:, None] + (sigma / math.sqrt(blocks))[:, None] * rng.standard_normal(
            (_WORLDS, _STUDIES)
        )
        spread = np.sqrt(rng.chisquare(blocks - 1, (_WORLDS, _STUDIES)) / (blocks - 1))
        least = 0.0 if effect.within is None else effect.within.least_sd(blocks)
        error = np.maximum(sigma[:, None] * spread, least) / math.sqrt(blocks)
        changed, inside = rule(means, error, blocks - 1, margin)
        needed[(changed | inside).mean(axis=1) >= POWER] = more
    fewest, usual, most = np.quantile(needed, [0.2, 0.5, 0.8], method="nearest")
    return Advice(
        fewest=int(fewest) if math.isfinite(usual) else None,
        most=int(most) if n > 1 and math.isfinite(most) else None,
        limit=math.expm1(detectable(sd, n + MOST_BLOCKS)),
    )
