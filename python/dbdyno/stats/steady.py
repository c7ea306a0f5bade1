"""Was the load warm, did it drift, does it swing: questions to the series of one step."""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dbdyno.stats.changes import history

Array = NDArray[np.float64]

BATCH = 5
LEAST_BATCHES = 20
"""Below 100 intervals MSER-5 calls stationary noise "still warming" in 25–56 % of cases."""

DRIFTING = 0.03
"""A drift or a step of the mean by 3 % within a window is told."""

_SEEN_AT_MOST = 60
"""Batches in which a change of level is looked for: more cost time and find no more."""


@dataclass(frozen=True, slots=True)
class Mser5:
    """Where the warm-up ends, by the marginal standard error rule."""

    intervals: int
    discard: int
    """Intervals to leave out at the beginning; a multiple of 5."""
    warmed: bool | None
    """`False`: the best cut lies at the search's end; `None`: too few intervals to judge."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight drift over the whole window."""

    change: float
    """Theil–Sen slope times length, relative to the median: −0.2 is a fall by 20 %."""
    p: float
    """Mann–Kendall (Kendall's τ against time), on batch means."""


@dataclass(frozen=True, slots=True)
class Period:
    """A wave found in a series."""

    intervals: float
    """Length of one period, in intervals."""
    strength: float
    """Autocorrelation at that lag, [0.25, 1]."""
    amplitude: float
    """P95 − P5 of the folded profile, relative to the running median."""
    explained: float
    """Share of the variance explained by the phase (η²), [0, 1]."""
    p: float
    """Of Fisher's g test: a bound from above, below 0.01."""


def mser5(series: ArrayLike) -> Mser5:
    """MSER-5 (White 1997; recommended by Hoad and Robinson among 44 methods).

    Means of five, Y_1…Y_m; g(d) = Σ_{j>d}(Y_j − Ȳ_d)² / (m − d)² for d = 0…⌊m/2⌋; d* = first
    argmin; 5 · d* intervals are warm-up. d* ≥ m/2 − 1: not warmed.
    """
    x = np.asarray(series, dtype=np.float64)
    batches = batch_means(x, BATCH)
    m = batches.size
    if m == 0:
        return Mser5(x.size, 0, None)
    scores = np.array([batches[d:].var() / (m - d) for d in range(min(m // 2, m - 1) + 1)])
    # Rounding must not decide between cuts of a constant series.
    rounding = 1e-24 * float(np.square(batches).max())
    best = int(np.flatnonzero(scores <= scores.min() * (1 + 1e-9) + rounding)[0])
    warmed = None if m < LEAST_BATCHES else best < m / 2 - 1
    return Mser5(x.size, BATCH * best, warmed)


@dataclass(frozen=True, slots=True)
class Settling:
    """Drift or step within the window beyond noise; both `None`: steady."""

    drift: float | None
    """Relative change over the window, |drift| ≥ 3 % and Mann–Kendall p < 0.01."""
    step: float | None
    """Relative change of the largest step, ≥ 3 % and p ≤ 0.01 by permutation."""
    step_at: float | None
    """Where it happened, as a share of the window, (0, 1)."""


def settling(series: ArrayLike) -> Settling:
    """Did the level drift or step within the window? A step that a line fits better is a drift.

    Steps: E-divisive on means of equal batches, 60 at most, at least 5 a side; see `changes`.
    """
    x = np.asarray(series, dtype=np.float64)
    line = trend(x)
    if line is None:
        return Settling(None, None, None)
    drift = line.change if abs(line.change) >= DRIFTING and line.p < 0.01 else None
    means = batch_means(x, max(1, math.ceil(x.size / _SEEN_AT_MOST)))
    changes = history(means, least_change=DRIFTING, least_segment=5).changes
    if not changes:
        return Settling(drift, None, None)
    time = np.arange(means.size, dtype=np.float64)
    straight = means - np.polyval(np.polyfit(time, means, 1), time)
    edges = [0, *(change.index for change in changes), means.size]
    steps = np.concatenate([m - m.mean() for m in np.split(means, edges[1:-1])])
    # Each step has two parameters, place and height, where the line has one.
    if drift is not None and np.square(straight).sum() <= np.square(steps).sum() * len(edges) / 2:
        return Settling(drift, None, None)
    largest = max(changes, key=lambda change: abs(change.relative))
    return Settling(None, largest.relative, largest.index / means.size)


def batch_means(series: Array, size: int) -> Array:
    """Means of consecutive batches; an incomplete last one is left out."""
    whole = series.size // size * size
    means: Array = series[:whole].reshape(-1, size).mean(axis=1)
    return means


def trend(series: ArrayLike) -> Trend | None:
    """Drift of a series by Theil–Sen, tested by Mann–Kendall; `None` below 10 intervals.

    Batch means of up to 30 batches lessen the dependence between neighbouring intervals.
    """
    x = np.asarray(series, dtype=np.float64)
    median = float(np.median(x)) if x.size else 0.0
    if x.size < 10 or median <= 0:
        return None
    means = batch_means(x, max(1, x.size // 30))
    time = np.arange(means.size, dtype=np.float64)
    slope = float(scipy.stats.theilslopes(means, time).slope)
    p = float(scipy.stats.kendalltau(time, means).pvalue)
    return Trend(slope * means.size / median, 1.0 if math.isnan(p) else p)


def period(series: ArrayLike) -> Period | None:
    """The shortest wave with at least four repetitions, or `None`.

    y = x / running median (301 intervals) − 1; the first peak of the autocorrelation between lag
    3 and n/4 with r ≥ 0.25, r > 3/√n and prominence ≥ 0.1, confirmed by Fisher's g test on the
    periodogram (p < 0.01), refined by a parabola. n isn't lessened by the lag-1 correlation: a
    slow smooth wave is what correlates there, and would rule itself out.
    """
    x = np.asarray(series, dtype=np.float64)
    n = x.size
    if n < 24 or np.median(x) <= 0:
        return None
    running = scipy.ndimage.median_filter(x, size=min(301, n), mode="reflect")
    y = x / np.where(running > 0, running, np.median(x)) - 1
    y = y - y.mean()
    p = 1.0 if float(y.var()) < 1e-12 else _fisher_g_p(y)
    if p >= 0.01:
        return None
    r = scipy.signal.correlate(y, y, method="fft")[n - 1 :] / (n * float(y.var()))
    threshold = max(0.25, 3 / math.sqrt(n))
    peaks, properties = scipy.signal.find_peaks(r[: n // 4 + 2], height=threshold, prominence=0.1)
    for peak, height in zip(peaks, properties["peak_heights"], strict=True):
        if 3 <= peak <= n // 4:
            return _folded(y, _parabola_top(r, int(peak)), min(1.0, float(height)), p)
    return None


def _parabola_top(r: Array, peak: int) -> float:
    left, middle, right = (float(value) for value in r[peak - 1 : peak + 2])
    bend = left - 2 * middle + right
    return peak if bend == 0 else peak + 0.5 * (left - right) / bend


def _folded(y: Array, length: float, strength: float, p: float) -> Period:
    bins = max(3, min(20, int(length)))
    phase = (np.arange(y.size) % length / length * bins).astype(int)
    groups = [y[phase == b] for b in range(bins) if (phase == b).any()]
    profile = np.array([np.median(group) for group in groups])
    between = sum(group.size * (group.mean() - y.mean()) ** 2 for group in groups)
    amplitude = float(np.quantile(profile, 0.95) - np.quantile(profile, 0.05))
    return Period(length, strength, amplitude, float(between / (y.size * y.var())), p)


def _fisher_g_p(y: Array) -> float:
    """Fisher's test for one hidden frequency: P(g > observed) ≤ k(1 − g)^(k−1).

    The first term of his alternating sum: exact for g > ½, a bound from above below that.
    """
    power = np.abs(np.fft.rfft(y)[1 : (y.size - 1) // 2 + 1]) ** 2
    g = float(power.max() / power.sum())
    return min(1.0, float(power.size * (1 - g) ** (power.size - 1)))
