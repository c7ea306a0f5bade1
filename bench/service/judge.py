"""What the rounds say of a cell: how far service times lie from what the proxy saw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.judge import Verdict, verdict_of
from dbdyno import stats

Round = Mapping[str, float]
"""Figures of one cell, measured once."""
_ALLOWED_US = 2.0
_ALLOWED_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell's difference, microseconds. It lies between a least and a most."""

    least: float
    most: float
    low: float
    """Of the least's 95 % interval over rounds."""
    high: float
    """Of the 95 % interval of `most`."""
    allowed: float
    """2 µs, or 2 % of the time at the proxy where that is more."""
    verdict: Verdict


def judge(rounds: Sequence[Round], *, without_way: bool) -> Judged:
    """The time from the engine's stamp to the arrival at the proxy, round by round.

    `without_way`: less the time that the kernel takes for it at best.
    """
    ways = [measured["way_us"] if without_way else 0.0 for measured in rounds]
    least = [measured["sending_least_us"] - way for measured, way in zip(rounds, ways, strict=True)]
    most = [measured["sending_most_us"] - way for measured, way in zip(rounds, ways, strict=True)]
    at_least, at_most = stats.arithmetic_mean(least), stats.arithmetic_mean(most)
    low = at_least.value if at_least.low is None else at_least.low
    high = at_most.value if at_most.high is None else at_most.high
    allowed = max(_ALLOWED_US, _ALLOWED_SHARE * mean(rounds, "proxy_us"))
    verdict = verdict_of((low, high), (-allowed, allowed), len(rounds))
    return Judged(at_least.value, at_most.value, low, high, allowed, verdict)


def mean(rounds: Sequence[Round], figure: str) -> float:
    """Of a figure over the rounds."""
    return float(np.mean([measured[figure] for measured in rounds]))
