"""Gates of a load from several hosts: uncertain clocks, and hosts that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbdyno.model import LoadHost
from dbdyno.report.gates.gate import GateState
from dbdyno.report.gates.load_hosts import clock_state, differences

HOST = LoadHost(
    name="load-1",
    clients=100,
    events=50_000,
    events_per_s=5000.0,
    events_per_s_error=20.0,
    response_us=900.0,
    response_us_error=5.0,
    p50_us=800.0,
    p99_us=4000.0,
    clock_ahead_us=-35.0,
    clock_drift_ppm=12.0,
    clock_uncertainty_us=200.0,
)


@pytest.mark.parametrize(
    ("uncertainty_us", "p50_us", "state"),
    [
        (200, 500, "ok"),
        (999, 500, "ok"),
        (1001, 500, "doubtful"),
        (1001, 20_000, "ok"),
        (2001, 20_000, "doubtful"),
        (5001, 20_000, "failed"),
        (5001, 900_000, "failed"),
    ],
)
def test_a_clock_is_doubted_by_its_uncertainty_and_the_median(
    uncertainty_us: float, p50_us: float, state: GateState
) -> None:
    assert clock_state(uncertainty_us, p50_us) == state


def test_hosts_alike_are_not_named() -> None:
    other = replace(HOST, name="load-2", events_per_s=5050.0, response_us=905.0)

    assert list(differences([HOST, other])) == []


def test_a_host_with_fewer_events_a_client_is_named() -> None:
    slow = replace(HOST, name="load-3", events_per_s=3000.0)
    alike = replace(HOST, name="load-2")

    assert [name for name, _ in differences([HOST, alike, slow])] == ["load-3"]
    assert "less events a client" in dict(differences([HOST, alike, slow]))["load-3"]


def test_events_are_counted_by_client() -> None:
    half = replace(HOST, name="load-2", clients=50, events_per_s=2500.0)

    assert list(differences([HOST, half])) == []


def test_a_host_with_longer_waits_is_named() -> None:
    slow = replace(HOST, name="load-2", response_us=1800.0)

    assert "more response time" in dict(differences([HOST, slow]))["load-2"]


def test_a_difference_within_chance_is_not_named() -> None:
    noisy = replace(HOST, name="load-2", events_per_s=4000.0, events_per_s_error=500.0)

    assert list(differences([HOST, noisy])) == []


def test_too_short_a_window_names_nobody() -> None:
    short = replace(HOST, name="load-2", events_per_s=10.0, events_per_s_error=None)

    assert "load-2" not in dict(differences([HOST, short]))
