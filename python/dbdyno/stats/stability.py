"""How evenly a step ran: dips, stalls, stops, and one word for it all.

A mean throughput is never printed without this word: two servers with equal means may differ in
whether they pause.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dbdyno.stats.distributions import binomial_above, poisson_up_to
from dbdyno.stats.steady import Period, Settling, period, settling, trend

Array = NDArray[np.float64]

DIP, STALL, STOP = 0.8, 0.5, 0.05
"""Shares of the median below which an interval belongs to a dip, a stall, a stop."""

DIP_LEAST_S, STALL_LEAST_S, STOP_LEAST_S = 3.0, 1.0, 1.0
MERGE_GAP_S = 2.0
FLAT_CV = 0.03
CHANCE = 0.01
"""Stalls and dips that a Poisson count of the same mean would show in so many windows are none."""

COLLAPSE = -0.2
"""A drift of −20 % over the window is a collapse, if Mann–Kendall agrees (p < 0.01)."""

LEAST_INTERVALS = 10


class StabilityWord(StrEnum):
    """From best to worst; `UNKNOWN` where the window is too short to say."""

    FLAT = "flat"
    JITTERY = "jittery"
    WAVY = "wavy"
    DRIFTING = "drifting"
    STEPPING = "stepping"
    STALLING = "stalling"
    COLLAPSING = "collapsing"
    UNKNOWN = "too short to say"


@dataclass(frozen=True, slots=True)
class Dip:
    """A stretch below a threshold."""

    start_s: float
    """From the beginning of the window."""
    duration_s: float
    depth: float
    """1 − least rate / median, [0, 1]."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What the bad seconds cost, against the median rate m of the window."""

    seconds_below: tuple[float, ...]
    """Seconds at or below 0, 10, …, 90 % of m."""
    loss_s: float
    """Σ (m − x)/m over seconds below 0.95 m: seconds of full work lost."""
    unresponsive_s: float
    """Σ ((m − x)/m)³ over the same: deep short stalls outweigh shallow long ones."""


@dataclass(frozen=True, slots=True)
class Stability:
    """One step's evenness. Rates are events per second."""

    word: StabilityWord
    intervals: int
    median: float
    cv: float
    """Standard deviation over mean."""
    counting_cv: float
    """What counting alone gives: 1/√(mean events an interval), the CV of a Poisson load."""
    robust_cv: float
    """1.4826 · MAD / median: blind to rare outliers."""
    p1_over_median: float
    p5_over_median: float
    """Rate reached or exceeded in 99 % (95 %) of the seconds, over the median (Callaghan)."""
    dips: tuple[Dip, ...]
    stalls: tuple[Dip, ...]
    stops: tuple[Dip, ...]
    period: Period | None
    drift: float | None
    """Relative change over the window; `None` if too short."""
    settling: Settling
    """Drift and step that are more than chance."""
    loss: Loss | None
    """What slow seconds cost; `None` without a rate to compare with."""

    @property
    def longest_stall_s(self) -> float:
        """The headline of stalls; 0 without any."""
        return max((stall.duration_s for stall in self.stalls), default=0.0)


def stability(rates: ArrayLike, interval_s: float = 1.0) -> Stability:
    """Judge the rates of one measured window, one value an interval.

    Words, first that fits: *collapsing* (Theil–Sen drift ≤ −20 %, Mann–Kendall p < 0.01),
    *stalling* (any stall: below half the median for 1 s or more), *wavy* (a period that explains
    something: see `steady.period`), *stepping* and *drifting* (see `steady.settling`), *flat*
    (no dip, and a CV below 3 % beside what counting events alone gives), else *jittery*.
    """
    x = np.asarray(rates, dtype=np.float64)
    median = float(np.median(x)) if x.size else 0.0
    if x.size == 0 or median <= 0:
        return _without_rate(x.size)
    mean = float(x.mean())
    cv = float(x.std(ddof=1)) / mean if x.size > 1 else 0.0
    # Nearest rank from below: a share of seconds must really reach the rate.
    p1, p5 = (float(np.quantile(x, q, method="lower")) / median for q in (0.01, 0.05))
    dips = tuple(_dips(x, median, DIP, DIP_LEAST_S, interval_s))
    stalls = tuple(_dips(x, median, STALL, STALL_LEAST_S, interval_s))
    stops = tuple(_dips(x, median, STOP, STOP_LEAST_S, interval_s))
    wave = period(x)
    drift = trend(x)
    settled = settling(x)
    counting_cv = 1 / math.sqrt(mean * interval_s)
    if x.size < LEAST_INTERVALS:
        word = StabilityWord.UNKNOWN
    elif drift is not None and drift.change <= COLLAPSE and drift.p < 0.01:
        word = StabilityWord.COLLAPSING
    elif stalls:
        word = StabilityWord.STALLING
    elif wave is not None and cv >= FLAT_CV:
        word = StabilityWord.WAVY
    elif settled.step is not None:
        word = StabilityWord.STEPPING
    elif settled.drift is not None:
        word = StabilityWord.DRIFTING
    elif _is_flat(cv, counting_cv, x.size) and not dips:
        word = StabilityWord.FLAT
    else:
        word = StabilityWord.JITTERY
    return Stability(
        word=word,
        intervals=x.size,
        median=median,
        cv=cv,
        counting_cv=counting_cv,
        robust_cv=1.4826 * float(np.median(np.abs(x - median))) / median,
        p1_over_median=p1,
        p5_over_median=p5,
        dips=dips,
        stalls=stalls,
        stops=stops,
        period=wave,
        drift=None if drift is None else drift.change,
        settling=settled,
        loss=loss(x, interval_s),
    )


def _without_rate(intervals: int) -> Stability:
    """More than half of the intervals saw nothing: there is no rate to compare with."""
    word = StabilityWord.UNKNOWN if intervals < LEAST_INTERVALS else StabilityWord.STALLING
    nothing = Settling(None, None, None)
    return Stability(
        word, intervals, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (), (), (), None, None, nothing, None
    )


def _is_flat(cv: float, counting_cv: float, intervals: int) -> bool:
    """Variances add; the one that counting gives is itself seen with an error of √(2/n)."""
    counted = counting_cv**2 * (1 + 2 * math.sqrt(2 / intervals))
    return cv**2 < FLAT_CV**2 + counted


def _dips(
    x: Array, median: float, share: float, least_s: float, interval_s: float
) -> Iterator[Dip]:
    """Runs below `share` · median, merged over gaps of up to 2 s, if `least_s` or longer.

    Left out is what counting alone would give: so many intervals with so few events or fewer, among
    those of the stretch, with a probability of 1 % and more somewhere in a Poisson load.
    """
    low = np.flatnonzero(x < share * median)
    if low.size == 0:
        return
    expected = median * interval_s
    gaps = np.diff(low) - 1
    for group in np.split(low, np.flatnonzero(gaps * interval_s > MERGE_GAP_S) + 1):
        duration = float(group[-1] - group[0] + 1) * interval_s
        few = poisson_up_to(round(x[group].max() * interval_s), expected)
        stretch = int(group[-1] - group[0] + 1)
        chance = binomial_above(group.size - 1, stretch, few)
        if duration >= least_s - 1e-9 and chance * x.size < CHANCE:
            depth = 1 - float(x[group].min()) / median
            yield Dip(float(group[0]) * interval_s, duration, depth)


def loss(rates: ArrayLike, interval_s: float = 1.0) -> Loss | None:
    """Seconds below shares of the median and what they cost; `None` if the median is 0.

    The definitions are PerfKitBenchmarker's disruption metrics, with the median as base.
    """
    x = np.asarray(rates, dtype=np.float64)
    median = float(np.median(x)) if x.size else 0.0
    if median <= 0:
        return None
    below = tuple(float(np.count_nonzero(x <= k / 10 * median)) * interval_s for k in range(10))
    short = 1 - x[x < 0.95 * median] / median
    return Loss(below, float(short.sum()) * interval_s, float((short**3).sum()) * interval_s)
