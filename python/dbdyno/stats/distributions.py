"""Distributions as functions of numbers, from scipy.special.

scipy.stats gives the same figures, most of them by these routines. Its classes take a second of
processor time to import, which every report and every study that may stop early would pay for.
"""

from __future__ import annotations

import math
from types import ModuleType

_FEW = 50
"""Trials whose chances are summed up here."""


def _special() -> ModuleType:
    """scipy.special, which takes a third of a second to import: only who computes pays for it."""
    from scipy import special

    return special


def t_percentile(share: float, degrees: float) -> float:
    """Student's t: the value below which `share` (0 to 1) lies; `degrees` above 0."""
    return float(_special().stdtrit(degrees, share))


def t_below(value: float, degrees: float) -> float:
    """Student's t: the chance of at most `value`."""
    return float(_special().stdtr(degrees, value))


def t_above(value: float, degrees: float) -> float:
    """Student's t: the chance of more than `value`."""
    return float(_special().stdtr(degrees, -value))


def noncentral_t_below(value: float, degrees: float, noncentrality: float) -> float:
    """Noncentral t: the chance of at most `value`; NaN far out in a tail."""
    return float(_special().nctdtr(degrees, noncentrality, value))


def normal_percentile(share: float) -> float:
    """Standard normal: the value below which `share` (0 to 1) lies."""
    return float(_special().ndtri(share))


def normal_above(value: float) -> float:
    """Standard normal: the chance of more than `value`."""
    return float(_special().ndtr(-value))


def poisson_up_to(count: int, expected: float) -> float:
    """Poisson: the chance of at most `count` where `expected` are."""
    return float(_special().pdtr(count, expected))


def even_binomial_up_to(count: int, trials: int) -> float:
    """Binomial: the chance of at most `count` of `trials`, each with chance one half.

    Of few trials exactly, and without scipy's import, which many reports need for nothing else.
    """
    if trials > _FEW:
        return float(_special().bdtr(count, trials, 0.5))
    tosses: int = 2**trials
    return sum(math.comb(trials, number) for number in range(count + 1)) / tosses


def binomial_above(count: int, trials: int, share: float) -> float:
    """Binomial: the chance of more than `count` of `trials`, each with chance `share`."""
    return float(_special().bdtrc(count, trials, share))
