"""Merging loses nothing; percentiles equal those of the sorted values."""

import math

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.stats import mean, merge_histograms, percentile, summarise

times = st.lists(st.integers(min_value=1, max_value=3_600_000_000_000), min_size=1, max_size=200)


def histogram(values: list[int], digits: int = 3) -> HdrHistogram:
    made = HdrHistogram(1, 3_600_000_000_000, digits)
    for value in values:
        made.record_value(value)
    return made


@given(times, st.sampled_from([0.0, 1.0, 50.0, 95.0, 99.0, 99.9, 100.0]))
def test_a_percentile_is_that_of_the_sorted_values(values: list[int], rank: float) -> None:
    nearest = max(1, math.ceil(rank / 100 * len(values) - 1e-9 * len(values)))
    expected = sorted(values)[nearest - 1]
    assert percentile(histogram(values), rank) == pytest.approx(expected, rel=1e-3, abs=1)


@given(times, times, st.sampled_from([2, 3]))
def test_merging_equals_recording_together_and_survives_the_wire(
    one: list[int], other: list[int], digits: int
) -> None:
    parts = [HdrHistogram.decode(histogram(part, digits).encode()) for part in (one, other)]
    assert summarise(merge_histograms(parts)) == summarise(histogram(one + other, digits))


def test_the_median_of_merged_runs_is_not_the_mean_of_their_medians() -> None:
    fast, slow = histogram([1_000] * 900), histogram([1_000_000] * 100)
    merged = summarise(merge_histograms([fast, slow]))
    assert merged is not None
    assert merged.p50 == pytest.approx(1_000, rel=1e-3)
    assert merged.p95 == pytest.approx(1_000_000, rel=1e-3)


def test_an_empty_histogram_has_no_percentile() -> None:
    assert summarise(merge_histograms([])) is None
    assert math.isnan(percentile(merge_histograms([]), 99))
    with pytest.raises(ValueError, match="between 0 and 100"):
        percentile(merge_histograms([]), 101)


@settings(max_examples=20)
@given(times)
def test_the_mean_is_the_librarys(values: list[int]) -> None:
    assert mean(histogram(values)) == pytest.approx(
        histogram(values).get_mean_value(), rel=1e-3, abs=1
    )
