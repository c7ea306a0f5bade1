"""What a load host has measured, as a manifest has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadHost:
    """What the engine on one of several load hosts has measured of a step."""

    name: str
    clients: int
    events: int
    events_per_s: float
    events_per_s_error: float | None
    """Standard error of the rate, from pieces of the window; `None`: too few."""
    response_us: float | None
    """Mean response time; `None` without an event."""
    response_us_error: float | None
    p50_us: float | None
    p99_us: float | None
    clock_ahead_us: float
    """How far its clock was ahead of the lab's in the middle of what was measured of it; times in
    the store are the lab's."""
    clock_drift_ppm: float
    """Microseconds gained a second; 0 where it was watched for less than 10 s."""
    clock_uncertainty_us: float
    """How far `clock_ahead_us` may be from the truth."""
    lost: str = ""
    """Why nothing more was heard of it; empty: it was there to the end."""
    heard_until_unix_s: float | None = None
    """End of the last interval that arrived, by the lab's clock."""
