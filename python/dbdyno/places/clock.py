"""How far another host's clock is ahead, from round trips: a filter by minimum and a line.

The filter is that of NTP (RFC 5905, section 10, and Mills, "Improved Algorithms for Synchronizing
Computer Network Clocks", 1994): of several round trips the shortest says most, because half of it
bounds the error. Who asks passes the shortest of each burst on; drift is the slope of a line
through these, each weighted by the inverse square of its bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_SPAN_NS = 10_000_000_000
"""Over a shorter time the trips' errors hide any drift."""
_LEAST_TRIPS = 3


class Trip(NamedTuple):
    """One round trip to a clock."""

    at_ns: int
    """Its middle by our own clock, since 1970."""
    ahead_ns: int
    """The other clock's time less that."""
    bound_ns: int
    """Half of its length: how far `ahead_ns` may be from the truth."""


@dataclass(frozen=True, slots=True)
class ClockLine:
    """A host's clock against ours, as far as it is known."""

    at_ns: int
    ahead_ns: float
    """How far it was ahead at `at_ns`, nanoseconds."""
    drift_ppm: float
    """Microseconds gained a second; 0 where the trips span less than 10 s."""
    uncertainty_ns: float
    """How far `ahead` may be from the truth between the first trip and the last."""

    def ahead(self, at_ns: int) -> int:
        """How far it is ahead at a time of ours, nanoseconds."""
        return round(self.ahead_ns + self.gained(at_ns - self.at_ns))

    def gained(self, over_ns: int) -> float:
        """How much it gains over a time, nanoseconds."""
        return self.drift_ppm * 1e-6 * over_ns


def clock_line(trips: Sequence[Trip]) -> ClockLine:
    """Fits round trips, at least one.

    The truth lies within a trip's bound of what it says, so within bound and distance of the line;
    of each half of the time the trip that says most counts, and of both halves the worse. A trip
    that contradicts the line by more (somebody has set the clock) counts by how much.
    """
    ordered = sorted(trips)
    middle_ns = (trips[0].at_ns + trips[-1].at_ns) // 2
    weights = [1.0 / max(trip.bound_ns, 1) ** 2 for trip in ordered]
    total = sum(weights)
    times = [trip.at_ns - middle_ns for trip in ordered]
    center = sum(w * t for w, t in zip(weights, times, strict=True)) / total
    ahead = sum(w * trip.ahead_ns for w, trip in zip(weights, ordered, strict=True)) / total
    slope = 0.0
    if len(ordered) >= _LEAST_TRIPS and times[-1] - times[0] >= _SPAN_NS:
        spread = sum(w * (t - center) ** 2 for w, t in zip(weights, times, strict=True))
        slope = (
            sum(
                w * (t - center) * (trip.ahead_ns - ahead)
                for w, t, trip in zip(weights, times, ordered, strict=True)
            )
            / spread
        )
    line = ClockLine(middle_ns, ahead - slope * center, slope * 1e6, 0.0)
    halves = (
        [trip for trip in trips if trip.at_ns <= middle_ns],
        [trip for trip in trips if trip.at_ns >= middle_ns],
    )
    worst = max(
        min(trip.bound_ns + abs(trip.ahead_ns - line.ahead(trip.at_ns)) for trip in half)
        for half in halves
        if half
    )
    against = max(abs(trip.ahead_ns - line.ahead(trip.at_ns)) - trip.bound_ns for trip in trips)
    return ClockLine(line.at_ns, line.ahead_ns, line.drift_ppm, float(max(worst, against)))
