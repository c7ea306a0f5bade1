"""How far the blocks of one cell lie apart."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dbdyno.stats.distributions import even_binomial_up_to, t_percentile


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """An interval of the median between two of the values themselves."""

    low: float
    high: float
    coverage: float
    """Probability with which such an interval holds the median, at least the one asked for."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One value a block, summed up. Units are those of the values."""

    blocks: int
    median: float
    low: float
    high: float
    """Least and greatest block."""
    cv: float | None
    """Standard deviation (n − 1) over mean; `None` for one block or a mean of 0."""
    interval: MedianInterval | None
    """95 % interval of the median; `None` below 6 blocks."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the blocks say of a cell's figure. Units are those of the values."""

    value: float
    low: float | None
    """Of the 95 % interval; `None` for one block."""
    high: float | None
    blocks: int

    def times(self, factor: float) -> "Estimate":
        """In another unit, or as a ratio to something fixed; `factor` is above zero."""
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Estimate(self.value * factor, low, high, self.blocks)


def estimate(values: ArrayLike) -> Estimate:
    """Mean of at least one block with its t interval: the geometric mean, that of ln x, where all
    values are above zero, else the arithmetic one."""
    x = np.asarray(values, dtype=np.float64)
    if not (x > 0).all():
        return arithmetic_mean(x)
    logs = arithmetic_mean(np.log(x))
    low = None if logs.low is None else _exp(logs.low)
    high = None if logs.high is None else _exp(logs.high)
    return Estimate(_exp(logs.value), low, high, logs.blocks)


def arithmetic_mean(values: ArrayLike) -> Estimate:
    """Of at least one block, with its 95 % interval x̄ ± t(n−1)·s/√n."""
    x = np.asarray(values, dtype=np.float64)
    if x.size == 0:
        raise ValueError("mean of no block")
    mean = float(x.mean())
    if x.size == 1:
        return Estimate(mean, None, None, 1)
    reach = t_percentile(0.975, x.size - 1) * float(x.std(ddof=1)) / x.size**0.5
    return Estimate(mean, mean - reach, mean + reach, x.size)


def _exp(log: float) -> float:
    """Two blocks far apart have an interval beyond any number."""
    return math.exp(min(log, 700.0))


def median_interval(values: ArrayLike, confidence: float = 0.95) -> MedianInterval | None:
    """Order-statistic interval of the median, without any assumption on the distribution.

    The widest k with coverage 1 − 2 · P(Binomial(n, ½) < k) ≥ `confidence`; the interval is
    [x_(k), x_(n+1−k)]. 6 values are the least for 95 % (their whole range, 96.9 %).
    David and Nagaraja, Order Statistics, 7.1.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = x.size
    best = None
    for k in range(1, n // 2 + 1):
        coverage = 1 - 2 * even_binomial_up_to(k - 1, n)
        if coverage < confidence:
            break
        best = MedianInterval(float(x[k - 1]), float(x[n - k]), coverage)
    return best


def spread(values: ArrayLike) -> Spread:
    """Median, range, coefficient of variation and interval of at least one value."""
    x = np.asarray(values, dtype=np.float64)
    if x.size == 0:
        raise ValueError("spread of no block")
    mean = float(x.mean())
    cv = float(x.std(ddof=1)) / abs(mean) if x.size > 1 and mean != 0 else None
    return Spread(
        blocks=x.size,
        median=float(np.median(x)),
        low=float(x.min()),
        high=float(x.max()),
        cv=cv,
        interval=median_interval(x),
    )
