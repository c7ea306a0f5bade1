"""Moving means, which show what a long noisy series does at large."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def moving_mean(times: ArrayLike, values: ArrayLike, reach: float) -> NDArray[np.float64]:
    """At each time the mean of its value and of those less than `reach` before it.

    `times` ascend. NaN until a reach has passed since the first; values that are NaN are left out.
    """
    at, x = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    known = ~np.isnan(x)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, x, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    first = np.searchsorted(at, at - reach, side="right")
    last = np.arange(1, at.size + 1)
    number = counts[last] - counts[first]
    means = np.full(at.size, np.nan)
    there = (number > 0) & (at - at[:1] >= reach)
    means[there] = (sums[last] - sums[first])[there] / number[there]
    return means
