"""Finds changes of level in a series: E-divisive with permutation tests.

For histories (one value per version or day) as well as within a window. Single distant values are
outliers, not changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from dbdyno.stats.divergence import best_split, divergences_of
from dbdyno.stats.drifting import drifting_p

Array = NDArray[np.float64]

PERMUTATIONS = 199
LEAST_SEGMENT = 3
"""Values needed on either side of a change: two look like an outlier and its neighbour."""

_NEIGHBOURS = 7
_FAR = 5.0
"""Hampel's distance for outliers, in robust standard deviations."""


@dataclass(frozen=True, slots=True)
class Change:
    """The series has another level from `index` on."""

    index: int
    before: float
    after: float
    """Means of the segments on both sides (geometric ones of ratios), outliers left out."""
    p: float
    """By permutation within the segment that the change splits, (0, 1]."""

    @property
    def relative(self) -> float:
        """`after` over `before`, less 1."""
        return self.after / self.before - 1 if self.before else 0.0


@dataclass(frozen=True, slots=True)
class History:
    """The changes and outliers of a series."""

    changes: tuple[Change, ...]
    outliers: tuple[int, ...]
    """Indices of single values that agree with neither neighbour."""


def least_points(level: float, least_segment: int = LEAST_SEGMENT) -> int:
    """The shortest series in which a change can have p ≤ `level`.

    A perfect step in the middle of n values has p = 2 / C(n, ⌊n/2⌋): its mirror image is as good.
    """
    n = 2 * least_segment
    while 2 / math.comb(n, n // 2) > level:
        n += 1
    return n


def history(
    series: ArrayLike,
    *,
    level: float = 0.01,
    least_change: float = 0.0,
    least_segment: int = LEAST_SEGMENT,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
    ratios: bool = False,
    drifting: bool = False,
) -> History:
    """Changes of level with p ≤ `level` and at least `least_change` (relative), in order.

    Candidates maximise the energy divergence Q over all splits and ends (Matteson and James 2014,
    α = 1); each is tested by permutations of its segment, p = (count + 1) / (permutations + 1).
    Outliers (Hampel over 7 neighbours, 5 robust standard deviations) are left out first, of the
    permuted values too. `ratios`: values above zero, judged by their logarithms. `drifting`: what
    noise that remembers itself would do as often is no change either (`drifting_p`).
    """
    x = np.asarray(series, dtype=np.float64)
    if x.size < 2 * least_segment:
        return History((), ())
    x = np.log(x) if ratios else x
    outliers = _outliers(x)
    kept = np.delete(np.arange(x.size), outliers)
    clean = x[kept]
    rng = np.random.default_rng(seed)
    candidates: dict[int, float] = {}
    open_segments = [(0, clean.size)]
    while open_segments:
        start, end = open_segments.pop()
        split = best_split(clean[start:end], least_segment)
        if split is None:
            continue
        place, divergence = split
        left, right = clean[start : start + place], clean[start + place : end]
        if _too_small(float(left.mean()), float(right.mean()), least_change, ratios):
            continue
        whole = x[kept[start] : kept[end - 1] + 1]
        p = _permutation_p(
            whole, divergence, rng, least=least_segment, level=level, permutations=permutations
        )
        if drifting and p <= level:
            p = max(p, drifting_p(clean[start:end], least_segment, permutations))
        if p <= level:
            candidates[start + place] = p
            open_segments += [(start, start + place), (start + place, end)]
    placed = _placed(clean, candidates, least_segment)
    changes = _told(clean, placed, least_change, ratios)
    return History(
        tuple(replace(change, index=int(kept[change.index])) for change in changes), outliers
    )


def _too_small(before: float, after: float, least_change: float, ratios: bool) -> bool:
    least = math.log1p(least_change) if ratios else least_change * abs(before)
    return abs(after - before) < least


def _placed(clean: Array, candidates: dict[int, float], least: int) -> dict[int, float]:
    """Each change where it parts the values between its neighbours best, by least squares.

    The divergence's best split may lie a value off, since it looks at all ends at once.
    """
    places = sorted(candidates)
    edges = [0, *places, clean.size]
    placed: dict[int, float] = {}
    for index, place in enumerate(places, 1):
        start, end = edges[index - 1], edges[index + 1]
        sums = clean[start:end].cumsum()
        left = np.arange(least, end - start - least + 1)
        right = end - start - left
        apart = (sums[-1] - sums[left - 1]) / right - sums[left - 1] / left
        edges[index] = start + int(left[np.argmax(left * right * apart**2)])
        placed[edges[index]] = candidates[place]
    return placed


def _told(
    clean: Array, candidates: dict[int, float], least_change: float, ratios: bool
) -> tuple[Change, ...]:
    """Changes between adjacent segments; those that are too small are dropped."""
    places = sorted(candidates)
    while True:
        edges = [0, *places, clean.size]
        means = [float(clean[a:b].mean()) for a, b in pairwise(edges)]
        small = [
            place
            for place, (before, after) in zip(places, pairwise(means), strict=True)
            if _too_small(before, after, least_change, ratios)
        ]
        if not small:
            break
        places.remove(max(small, key=lambda place: candidates[place]))
    means = [math.exp(mean) for mean in means] if ratios else means
    return tuple(
        Change(place, before, after, candidates[place])
        for place, before, after in zip(places, means, means[1:], strict=False)
    )


def _outliers(x: Array) -> tuple[int, ...]:
    """Single values, far from the median around them and from both neighbours: two that are both
    far off may be the beginning of a change."""
    if x.size < _NEIGHBOURS:
        return ()
    median = scipy.ndimage.median_filter(x, size=_NEIGHBOURS, mode="nearest")
    scale = 1.4826 * float(np.median(np.abs(x - median)))
    limit = _FAR * max(scale, 1e-12 * float(np.abs(median).max()))
    far = np.abs(x - median) > limit
    apart = np.r_[True, np.abs(np.diff(x)) > limit, True]
    alone = far & apart[:-1] & apart[1:] & ~np.r_[False, far[:-1]] & ~np.r_[far[1:], False]
    alone[[0, -1]] = False
    return tuple(int(place) for place in np.flatnonzero(alone))


def _permutation_p(
    x: Array, divergence: float, rng: Generator, *, least: int, level: float, permutations: int
) -> float:
    """Ends early where the level can't be reached any more."""
    greater = 0
    for done in range(permutations):
        drawn = rng.permutation(x)
        drawn = np.delete(drawn, _outliers(drawn))
        distances = np.abs(drawn[:, None] - drawn[None, :])
        greater += bool(divergences_of(distances, least).max() >= divergence * (1 - 1e-12))
        if (greater + 1) / (permutations + 1) > level:
            return (greater + 1) / (done + 2)
    return (greater + 1) / (permutations + 1)
