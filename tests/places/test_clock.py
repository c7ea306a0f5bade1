"""A clock's offset and drift, from round trips with known ones."""

from __future__ import annotations

import random

import pytest

from dbdyno.places import Trip, clock_line

SECOND = 1_000_000_000


def trips(ahead_ns: float, drift_ppm: float, *, over_s: int, seed: int = 1) -> list[Trip]:
    """Every five seconds one trip of 0.2 to 3 ms, whose ways there and back differ."""
    draw = random.Random(seed)
    made = []
    for at_s in range(0, over_s + 1, 5):
        there, back = draw.uniform(1e5, 1.5e6), draw.uniform(1e5, 1.5e6)
        at = at_s * SECOND
        true = ahead_ns + drift_ppm * 1e-6 * at
        made.append(Trip(at, round(true + (there - back) / 2), round((there + back) / 2)))
    return made


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("ahead_ns", "drift_ppm"), [(0, 0), (7e6, 40), (-3e9, -120), (5e3, 3)])
def test_offset_and_drift_are_found_within_the_stated_uncertainty(
    ahead_ns: float, drift_ppm: float, seed: int
) -> None:
    line = clock_line(trips(ahead_ns, drift_ppm, over_s=120, seed=seed))

    for at_s in (0, 30, 60, 90, 120):
        true = ahead_ns + drift_ppm * 1e-6 * at_s * SECOND
        assert abs(line.ahead(at_s * SECOND) - true) <= 1.5 * line.uncertainty_ns
    assert abs(line.drift_ppm - drift_ppm) <= line.uncertainty_ns / 30_000


def test_the_shortest_trips_decide() -> None:
    slow = [Trip(at * SECOND, 40_000_000, 50_000_000) for at in range(10)]

    line = clock_line([*slow[:5], Trip(5 * SECOND, 1_000_000, 50_000), *slow[5:]])

    assert line.ahead(5 * SECOND) == pytest.approx(1_000_000, abs=1000)


def test_a_short_time_says_nothing_of_drift() -> None:
    line = clock_line([Trip(0, 0, 100), Trip(SECOND, 100_000, 100), Trip(2 * SECOND, 0, 100)])

    assert line.drift_ppm == 0


def test_trips_that_contradict_a_line_raise_the_uncertainty() -> None:
    steady = [Trip(at * 5 * SECOND, 1000, 1000) for at in range(10)]
    stepped = [*steady[:5], *(trip._replace(ahead_ns=9_000_000) for trip in steady[5:])]

    assert clock_line(steady).uncertainty_ns <= 1100
    assert clock_line(stepped).uncertainty_ns > 500_000
