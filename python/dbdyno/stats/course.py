"""How throughput changes within a window: whether it holds, and how much it swings.

Each run has one value of each figure, so that blocks are compared as by any other figure.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

QUARTER = 0.25


def rate_held(lengths_s: ArrayLike, rates: ArrayLike) -> float | None:
    """Events a second in the last quarter of a window over those in its first; 0 or more.

    An interval across the border of a quarter counts with the part inside. `None` for fewer than
    four intervals, or if no event ended in the first quarter.
    """
    length, rate = np.asarray(lengths_s, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    if rate.size < round(1 / QUARTER):
        return None
    ends = np.cumsum(length)
    events = np.cumsum(length * rate)
    quarter_s = QUARTER * float(ends[-1])

    def done_by(second: float) -> float:
        return float(np.interp(second, [0.0, *ends], [0.0, *events]))

    first = done_by(quarter_s)
    last = float(events[-1]) - done_by(float(ends[-1]) - quarter_s)
    return last / first if first > 0 else None


def rate_cv(rates: ArrayLike) -> float | None:
    """Standard deviation of a window's rates over their mean; 0 or more.

    It includes the noise of counting, 1/√(events of an interval), which is alike for two sides of
    the same rate and grows as intervals become shorter. `None` for fewer than two intervals, or if
    no event ended.
    """
    rate = np.asarray(rates, dtype=np.float64)
    mean = float(rate.mean()) if rate.size > 1 else 0.0
    return float(rate.std(ddof=1)) / mean if mean > 0 and math.isfinite(mean) else None
