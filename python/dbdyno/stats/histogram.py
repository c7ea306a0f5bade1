"""Distributions of times: merged first, percentiles read afterwards.

Averaging percentiles of clients, seconds or runs is meaningless; adding their histograms isn't.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

LOWEST = 1
HIGHEST = 3_600_000_000_000
"""One hour in nanoseconds; the engine counts what lies above apart."""

SIGNIFICANT_DIGITS = 3
"""A bucket is 0.1 % wide. The engine's `queued` and `unread` have two digits: 1 %."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a report says about one merged histogram; times in nanoseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    p999: float
    max: float


def merge_histograms(histograms: Iterable[HdrHistogram]) -> HdrHistogram:
    """The sum of histograms: nanoseconds, 1 ns … 1 h, with as many significant digits as the first
    of them; 3 if there is none."""
    total = None
    for histogram in histograms:
        if total is None:
            total = HdrHistogram(LOWEST, HIGHEST, histogram.significant_figures)
        total.add(histogram)
    return HdrHistogram(LOWEST, HIGHEST, SIGNIFICANT_DIGITS) if total is None else total


def histogram_of(counts: Iterable[tuple[int, int]]) -> HdrHistogram:
    """The histogram of (nanoseconds, how many); what lies outside its range counts at its end."""
    histogram = HdrHistogram(LOWEST, HIGHEST, SIGNIFICANT_DIGITS)
    for value_ns, count in counts:
        histogram.record_value(max(LOWEST, min(HIGHEST, value_ns)), count)
    return histogram


def percentile(histogram: HdrHistogram, rank: float) -> float:
    """The least recorded value that at least `rank` percent of the values don't exceed.

    `rank` in [0, 100]. Nearest rank ⌈rank/100 · n⌉, at least 1, so the answer is exact to the
    histogram's bucket (0.1 %) for n from 1. The library's own method rounds the rank and may
    answer one value too low. NaN for an empty histogram.
    """
    if not 0 <= rank <= 100:
        raise ValueError(f"a percentile lies between 0 and 100, got {rank}")
    if histogram.total_count == 0:
        return math.nan
    return percentiles(histogram, [rank])[0]


def percentiles(histogram: HdrHistogram, ranks: Iterable[float]) -> list[float]:
    """Several percentiles of a histogram that isn't empty, in one pass; see `percentile`."""
    counts = np.asarray(histogram.counts)
    used = np.flatnonzero(counts)
    cumulated = np.cumsum(counts[used])
    n = int(cumulated[-1])
    answers = []
    for rank in ranks:
        # A rank such as 99.9 isn't exact in binary; without the allowance 99.9 % of 1,000 is 1,000.
        target = max(1, math.ceil(rank / 100 * n - 1e-9 * n))
        index = int(used[int(np.searchsorted(cumulated, target))])
        value = histogram.get_value_from_index(index)
        answers.append(float(histogram.get_highest_equivalent_value(value)))
    return answers


def mean(histogram: HdrHistogram) -> float:
    """Mean of the values, each taken as the middle of its bucket (0.1 %); NaN if there is none.

    The library's own method walks all 33,792 buckets in Python: 70 ms, too long for every interval.
    """
    if histogram.total_count == 0:
        return math.nan
    counts = np.asarray(histogram.counts)
    used = np.flatnonzero(counts)
    return float(np.dot(counts[used], _middles(histogram, used))) / float(histogram.total_count)


def _middles(histogram: HdrHistogram, indexes: NDArray[np.intp]) -> NDArray[np.float64]:
    """The middles of buckets, as HdrHistogram lays them out: each half of a power of two has
    equally wide ones, twice as wide as those of the half before; the first two are alike."""
    half, magnitude = histogram.sub_bucket_half_count, histogram.sub_bucket_half_count_magnitude
    power = np.maximum((indexes >> magnitude) - 1, 0)
    place = np.where(indexes < half, indexes, (indexes & (half - 1)) + half)
    width = 2.0 ** (power + histogram.unit_magnitude)
    middles: NDArray[np.float64] = (place + 0.5) * width
    return middles


def summarise(histogram: HdrHistogram) -> Distribution | None:
    """The percentiles every report shows; `None` for an empty histogram."""
    if histogram.total_count == 0:
        return None
    p50, p95, p99, p999, top = percentiles(histogram, [50, 95, 99, 99.9, 100])
    return Distribution(int(histogram.total_count), p50, p95, p99, p999, top)
