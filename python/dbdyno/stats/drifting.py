"""Whether autocorrelated noise would look like this change: a simulated null, AR(1)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dbdyno.stats.divergence import best_split

Array = NDArray[np.float64]

MEMORIES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
"""Autocorrelations of neighbours for which the null is simulated."""

_CAUTION = 0.35
"""Of series with the memory taken for the truth, this share look no more like it: below 0.5, so
that the memory is rather over- than underestimated."""

_SETTLING = 30
"""Values discarded before a simulated series begins."""


def drifting_p(x: Array, least: int, simulations: int) -> float:
    """p of the best split of `x` among AR(1) series without any change; (0, 1].

    Compared is Q over the mean absolute residual, so that scale does not matter. Which memory the
    series has is read from its residuals' autocorrelation at lag 1, by which of the simulated
    series, put through the same, look like it: removing changes that are none takes away memory,
    so the plain estimate is too low (a median-unbiased estimate, Andrews 1993, made cautious).
    Twice the share is taken as p: simulated on AR(1), the plain share is too bold by about that.
    """
    divergence, memory = _signs(x, least)
    divergences, memories = _null(x.size, least, simulations)
    alike = np.quantile(memories, _CAUTION, axis=1)
    place = float(np.interp(memory, np.maximum.accumulate(alike), MEMORIES))
    shares = (1 + (divergences >= divergence).sum(axis=1)) / (simulations + 1)
    return min(1.0, 2 * float(np.interp(place, MEMORIES, shares)))


@lru_cache(maxsize=64)
def _null(size: int, least: int, simulations: int) -> tuple[Array, Array]:
    """Scaled divergence and autocorrelation of simulated series, a row a memory.

    The seed is fixed: the null depends on the length of a series and on nothing else.
    """
    rng = np.random.default_rng(size)
    signs = np.empty((len(MEMORIES), simulations, 2))
    for row, memory in enumerate(MEMORIES):
        noise = rng.normal(size=(simulations, size + _SETTLING))
        series = scipy.signal.lfilter([1.0], [1.0, -memory], noise, axis=1)[:, _SETTLING:]
        signs[row] = [_signs(simulated, least) for simulated in series]
    return signs[:, :, 0], signs[:, :, 1]


def _signs(x: Array, least: int) -> tuple[float, float]:
    """Q of the best split over the mean absolute residual, and the residuals' autocorrelation."""
    split = best_split(x, least)
    left = _residuals(x, least)
    size = float(np.abs(left).mean())
    if split is None or size <= 0:
        return 0.0 if split is None else np.inf, 0.0
    return split[1] / size, float((left[1:] * left[:-1]).sum() / np.square(left).sum())


def _residuals(x: Array, least: int) -> Array:
    """What one change (two, where the series is long enough) leaves, by least squares."""
    n = x.size
    sums = np.r_[0.0, x.cumsum()]
    first = np.arange(least, n - least + 1)
    gain = sums[first] ** 2 / first + (sums[n] - sums[first]) ** 2 / (n - first)
    edges = [int(first[gain.argmax()])]
    if n >= 4 * least:
        i, j = first[:, None], first[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (sums[j] - sums[i]) ** 2 / (j - i)
        pairs = sums[i] ** 2 / i + between + (sums[n] - sums[j]) ** 2 / (n - j)
        pairs = np.where(j - i >= least, pairs, -np.inf)
        earlier, two = np.unravel_index(int(pairs.argmax()), pairs.shape)
        edges = [int(first[earlier]), int(first[two])]
    return np.concatenate([part - part.mean() for part in np.split(x, edges)])
