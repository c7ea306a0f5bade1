"""The search for the highest rate that meets an objective: its rules, and how near it comes to the
truth on a queue with one server, whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.design.search import begin, joined, most_probes, next_rate, usual_probes
from dbdyno.model import FindMax, Miss, Probe, RateSearch
from dbdyno.stats import estimate

ASKED = FindMax("p99", 0.05, from_per_s=50, to_per_s=1e6, precision=0.05)

Meets = Callable[[float], bool]


def carried_out(asked: FindMax, meets: Meets, seed: int = 1) -> RateSearch:
    """A search to its end in a world where `meets` says what a window at a rate shows."""
    search = begin(asked, seed)
    while (rate := next_rate(search)) is not None:
        missed: tuple[Miss, ...] = () if meets(rate) else ("percentile",)
        probe = Probe(rate, len(search.probes), 0, 10.0, 1000, {}, 0, 0, 0.1, missed)
        search = joined(search, probe)
        assert len(search.probes) <= most_probes(asked)
    return search


@given(st.floats(60, 9e5), st.floats(0.01, 0.5))
def test_without_noise_the_bracket_holds_the_truth_within_the_precision(
    truth: float, precision: float
) -> None:
    asked = FindMax("p99", 0.05, 50, 1e6, precision)

    found = carried_out(asked, lambda rate: rate <= truth)

    assert found.low_per_s is not None and found.high_per_s is not None
    assert found.low_per_s <= truth < found.high_per_s <= found.low_per_s * (1 + precision) * 1.001
    assert found.rate_per_s == pytest.approx(math.sqrt(found.low_per_s * found.high_per_s))
    chosen = found.probes[found.chosen]
    assert (chosen.rate_per_s, chosen.missed) == (found.low_per_s, ())


def test_it_doubles_then_halves_and_two_misses_decide() -> None:
    found = carried_out(FindMax("p99", 0.05, 100, 1e6, 0.25), lambda rate: rate <= 330)

    first = found.first_per_s
    assert 100 <= first < 119
    doublings = [round(math.log2(probe.rate_per_s / first), 2) for probe in found.probes]
    assert doublings == [0, 1, 2, 2, 1.5, 1.5, 1.75, 1.75]
    assert (found.low_per_s, found.high_per_s) == pytest.approx((2**1.5 * first, 2**1.75 * first))


def test_one_stall_does_not_end_the_search() -> None:
    told = iter([True, False])

    found = carried_out(ASKED, lambda rate: rate <= 700 and next(told, True))

    times = [probe.rate_per_s / found.first_per_s for probe in found.probes]
    assert times[:5] == [1, 2, 2, 2, 4]
    assert found.low_per_s is not None and found.low_per_s > 660


def test_without_an_end_there_is_no_answer() -> None:
    never = carried_out(ASKED, lambda _rate: False)
    always = carried_out(FindMax("p99", 0.05, 50, 300), lambda _rate: True)

    assert (len(never.probes), never.low_per_s, never.rate_per_s) == (2, None, None)
    assert never.chosen == 0
    times = [probe.rate_per_s / always.first_per_s for probe in always.probes]
    assert times == [1, 2, 4, 300 / always.first_per_s]
    assert (always.low_per_s, always.high_per_s, always.rate_per_s) == (300, None, None)


def test_the_interval_over_blocks_holds_the_width_of_the_bracket() -> None:
    """Without any noise, all that blocks differ in is where their rates lie."""
    truth, studies = 700.0, 400
    missed = 0
    for study in range(studies):
        blocks = [carried_out(ASKED, lambda rate: rate <= truth, 10 * study + b) for b in range(5)]
        found = estimate([search.rate_per_s or 0.0 for search in blocks])
        assert found.low is not None and found.high is not None
        missed += not found.low <= truth <= found.high
    assert missed / studies < 0.1


@given(st.integers(0, 2**32), st.floats(51, 1e8), st.floats(0.01, 0.5))
def test_it_ends_whatever_the_probes_say(seed: int, to_per_s: float, precision: float) -> None:
    rng = np.random.default_rng(seed)
    asked = FindMax("p99", 0.05, 50, to_per_s, precision)

    carried_out(asked, lambda _rate: bool(rng.random() < 0.8))

    assert usual_probes(asked) <= most_probes(asked)


SERVED_PER_S = 1000.0
CLIENTS = 64
WINDOW_S = 30.0


def a_queue(rng: np.random.Generator, limit_s: float) -> Meets:
    """One server with exponential times: the response times of Poisson arrivals at λ are
    exponential with rate μ − λ. The machine is some percent faster or slower in each window, and
    stands still for half a second in one window of thirty."""

    def meets(rate_per_s: float) -> bool:
        events = rng.poisson(rate_per_s * WINDOW_S)
        arrivals = np.sort(rng.random(events)) * WINDOW_S
        times = rng.exponential(1 / (SERVED_PER_S * math.exp(rng.normal(0, 0.01))), events)
        if rng.random() < 1 / 30:
            times[int(rng.random() * events)] += 0.5
        total = np.cumsum(times)
        ends = total + np.maximum.accumulate(arrivals - (total - times))
        backlog = np.count_nonzero(ends > WINDOW_S) - CLIENTS
        kept = backlog <= max(10, 0.01 * events)
        return bool(kept and np.percentile(ends - arrivals, 99) <= limit_s)

    return meets


@pytest.mark.parametrize(
    "limit_s", [*(pytest.param(limit, marks=pytest.mark.nightly) for limit in (0.05, 0.02)), 0.01]
)
def test_on_a_noisy_queue_it_comes_near_the_truth(limit_s: float) -> None:
    truth = SERVED_PER_S - math.log(100) / limit_s
    rng = np.random.default_rng(7)
    asked = FindMax("p99", limit_s, 50, 1e6)

    found = [carried_out(asked, a_queue(rng, limit_s), seed) for seed in range(200)]

    errors = [abs(math.log((search.rate_per_s or 1.0) / truth)) for search in found]
    assert np.mean(np.array(errors) < 2 * math.log1p(asked.precision)) >= 0.95
    assert np.median(errors) < math.log1p(asked.precision)
    probes = np.mean([len(search.probes) for search in found])
    assert probes == pytest.approx(usual_probes(asked), rel=0.4)
