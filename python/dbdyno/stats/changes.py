"""Where a series changed its level: E-divisive with permutation tests.

For histories (a value a version or a day) and for the inside of a window alike. Single values far
off are outliers and not changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

PERMUTATIONS = 199
LEAST_SEGMENT = 3
"""Values on either side of a change: two can't be told from an outlier and its neighbour."""

_NEIGHBOURS = 7
_FAR = 5.0
"""Hampel's distance for outliers, in robust standard deviations."""


@dataclass(frozen=True, slots=True)
class Change:
    """The series has another level from `index` on."""

    index: int
    before: float
    after: float
    """Means of the segments on both sides, outliers left out."""
    p: float
    """By permutation within the segment that the change splits, (0, 1]."""

    @property
    def relative(self) -> float:
        """`after` over `before`, less 1."""
        return self.after / self.before - 1 if self.before else 0.0


@dataclass(frozen=True, slots=True)
class History:
    """What became of a series."""

    changes: tuple[Change, ...]
    outliers: tuple[int, ...]
    """Places of single values that agree with neither neighbour."""


def history(
    series: ArrayLike,
    *,
    level: float = 0.01,
    least_change: float = 0.0,
    least_segment: int = LEAST_SEGMENT,
    seed: int = 0,
) -> History:
    """Changes of level with p ≤ `level` and at least `least_change` (relative), in order.

    Candidates maximise the energy divergence Q over all splits and ends (Matteson and James 2014,
    α = 1); each is tested by 199 permutations of its segment, p = (count + 1) / 200.
    Outliers (Hampel over 7 neighbours, 5 robust standard deviations) are left out first.
    """
    x = np.asarray(series, dtype=np.float64)
    if x.size < 2 * least_segment:
        return History((), ())
    outliers = _outliers(x)
    kept = np.delete(np.arange(x.size), outliers)
    clean = x[kept]
    rng = np.random.default_rng(seed)
    found: dict[int, float] = {}
    open_segments = [(0, clean.size)]
    while open_segments:
        start, end = open_segments.pop()
        split = _best_split(clean[start:end], least_segment)
        if split is None:
            continue
        place, divergence = split
        left, right = clean[start : start + place], clean[start + place : end]
        if abs(right.mean() - left.mean()) < least_change * abs(left.mean()):
            continue
        p = _permutation_p(clean[start:end], divergence, least_segment, level, rng)
        if p <= level:
            found[start + place] = p
            open_segments += [(start, start + place), (start + place, end)]
    told = _told(clean, _placed(clean, found, least_segment), least_change)
    return History(
        tuple(replace(change, index=int(kept[change.index])) for change in told), outliers
    )


def _placed(clean: Array, found: dict[int, float], least: int) -> dict[int, float]:
    """Each change where it parts the values between its neighbours best, by least squares.

    The divergence's best split may lie a value off, since it looks at all ends at once.
    """
    places = sorted(found)
    edges = [0, *places, clean.size]
    told: dict[int, float] = {}
    for index, place in enumerate(places, 1):
        start, end = edges[index - 1], edges[index + 1]
        sums = clean[start:end].cumsum()
        left = np.arange(least, end - start - least + 1)
        right = end - start - left
        apart = (sums[-1] - sums[left - 1]) / right - sums[left - 1] / left
        edges[index] = start + int(left[np.argmax(left * right * apart**2)])
        told[edges[index]] = found[place]
    return told


def _told(clean: Array, found: dict[int, float], least_change: float) -> tuple[Change, ...]:
    """Changes between neighbouring segments; those that came out too small are taken back."""
    places = sorted(found)
    while True:
        edges = [0, *places, clean.size]
        means = [float(clean[a:b].mean()) for a, b in pairwise(edges)]
        small = [
            place
            for place, (before, after) in zip(places, pairwise(means), strict=True)
            if abs(after - before) < least_change * abs(before)
        ]
        if not small:
            break
        places.remove(max(small, key=lambda place: found[place]))
    return tuple(
        Change(place, before, after, found[place])
        for place, before, after in zip(places, means, means[1:], strict=False)
    )


def _outliers(x: Array) -> tuple[int, ...]:
    """Single values; two neighbours that are both far off may be the beginning of a change."""
    if x.size < _NEIGHBOURS:
        return ()
    median = scipy.ndimage.median_filter(x, size=_NEIGHBOURS, mode="nearest")
    scale = 1.4826 * float(np.median(np.abs(x - median)))
    far = np.abs(x - median) > _FAR * max(scale, 1e-12 * float(np.abs(median).max()))
    alone = far & ~np.r_[False, far[:-1]] & ~np.r_[far[1:], False]
    alone[[0, -1]] = False
    return tuple(int(place) for place in np.flatnonzero(alone))


def _best_split(x: Array, least: int) -> tuple[int, float] | None:
    """The split with the greatest divergence, over all ends; `None` for a short segment."""
    if x.size < 2 * least:
        return None
    divergences = _divergences(np.abs(x[:, None] - x[None, :]), least)
    place, _ = np.unravel_index(int(divergences.argmax()), divergences.shape)
    greatest = float(divergences.max())
    return (int(place), greatest) if greatest > 0 else None


def _divergences(distances: Array, least: int) -> Array:
    """Q[τ, κ] of the values before τ against those from τ to before κ; −∞ where too few.

    Q = 2/(n+m)·ΣΣ|X−Y| − 2m/((n+m)(n−1))·Σ|X−X'| − 2n/((n+m)(m−1))·Σ|Y−Y'|, sums over pairs.
    """
    size = distances.shape[0]
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    tau, kappa = np.arange(size + 1)[:, None], np.arange(size + 1)[None, :]
    n, m = tau.astype(np.float64), (kappa - tau).astype(np.float64)
    allowed = (tau >= max(2, least)) & (kappa - tau >= max(2, least))
    square = np.diag(sums)[:, None]
    within_x = square / 2
    within_y = (np.diag(sums)[None, :] - 2 * sums + square) / 2
    between = sums - square
    with np.errstate(divide="ignore", invalid="ignore"):
        q = (2 * between - 2 * m / (n - 1) * within_x - 2 * n / (m - 1) * within_y) / (n + m)
    divergences: Array = np.where(allowed, q, -np.inf)
    return divergences


def _permutation_p(
    x: Array, divergence: float, least: int, level: float, rng: np.random.Generator
) -> float:
    """Ends early where the level can't be reached any more."""
    distances = np.abs(x[:, None] - x[None, :])
    greater = 0
    for done in range(PERMUTATIONS):
        order = rng.permutation(x.size)
        greater += bool(_divergences(distances[np.ix_(order, order)], least).max() >= divergence)
        if (greater + 1) / (PERMUTATIONS + 1) > level:
            return (greater + 1) / (done + 2)
    return (greater + 1) / (PERMUTATIONS + 1)
