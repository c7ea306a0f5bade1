"""What the rounds say of a cell: how far service times lie from what the proxy saw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from bench.judge import Verdict

Round = Mapping[str, float]
"""Figures of one cell, measured once."""
_ALLOWED_US = 2.0
_ALLOWED_SHARE = 0.02
_LEAST_ROUNDS = 3
"""With fewer nothing is said to be met or missed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell's difference, microseconds. It lies between a least and a most."""

    least: float
    most: float
    low: float
    """Of the least's 95 % interval over rounds."""
    high: float
    """Of the most's."""
    allowed: float
    """2 µs, or 2 % of the time at the proxy where that is more."""
    verdict: Verdict


def judge(rounds: Sequence[Round], *, without_way: bool) -> Judged:
    """The time from the engine's stamp to the arrival at the proxy, round by round.

    `without_way`: less the time that the kernel takes for it at best.
    """
    ways = [one["way_us"] if without_way else 0.0 for one in rounds]
    least = [one["sending_least_us"] - way for one, way in zip(rounds, ways, strict=True)]
    most = [one["sending_most_us"] - way for one, way in zip(rounds, ways, strict=True)]
    low, high = _mean_interval(least)[0], _mean_interval(most)[1]
    allowed = max(_ALLOWED_US, _ALLOWED_SHARE * mean(rounds, "proxy_us"))
    if len(rounds) < _LEAST_ROUNDS:
        verdict = Verdict.UNCLEAR
    elif -allowed <= low and high <= allowed:
        verdict = Verdict.MET
    elif high < -allowed or low > allowed:
        verdict = Verdict.MISSED
    else:
        verdict = Verdict.UNCLEAR
    return Judged(float(np.mean(least)), float(np.mean(most)), low, high, allowed, verdict)


def mean(rounds: Sequence[Round], figure: str) -> float:
    """Of a figure over the rounds."""
    return float(np.mean([one[figure] for one in rounds]))


def _mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % by Student's t; the value itself where there is one only."""
    middle, count = float(np.mean(values)), len(values)
    if count < 2:
        return middle, middle
    reach = float(scipy.stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / count**0.5)
    return middle - reach, middle + reach
