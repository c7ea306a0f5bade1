"""A search for the highest rate that meets an objective: the request, and the result of each
probe.

Rates are events per second over all clients of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Miss = Literal["percentile", "backlog", "errors"]
"""Why a probe missed: the percentile exceeded the limit, the rate was not reached, statements
failed."""


@dataclass(frozen=True, slots=True)
class FindMax:
    """The objective and the range of the search."""

    percentile: str
    """Of response time: `p50`, `p95`, `p99`, `p99.9` or `max`."""
    limit_s: float
    from_per_s: float
    """The first rate."""
    to_per_s: float
    """No rate is tried above it."""
    precision: float = 0.05
    """The search ends when the lowest missed rate is less than this share above the highest met."""

    @property
    def objective(self) -> str:
        """For people: `p99 ≤ 10 ms`."""
        return f"{self.percentile} ≤ {1000 * self.limit_s:g} ms"


@dataclass(frozen=True, slots=True)
class Probe:
    """One window at one rate, with a call of the engine and a seed of its own."""

    rate_per_s: float
    """The rate intended."""
    seed: int
    start_unix_ns: int
    """When its engine began, by the wall clock."""
    window_s: float
    events: int
    """That ended in the window."""
    latency_us: Mapping[str, float]
    """Response time of events: `p50` … `max`, `mean`; empty: no event."""
    backlog: int
    """Events due and not yet begun at the end of the window."""
    errors: int
    client_busy: float
    """Share of its shards' time that the engine used; 0 for a database inside it."""
    missed: tuple[Miss, ...] = ()
    """Empty: it met the objective."""


@dataclass(frozen=True, slots=True)
class RateSearch:
    """All probes of a step in order, and the resulting bracket."""

    objective: FindMax
    first_per_s: float
    """The rate of the first probe."""
    probes: tuple[Probe, ...] = field(default=())
    low_per_s: float | None = None
    """The highest rate that met the objective; `None`: none did."""
    high_per_s: float | None = None
    """The lowest rate that missed it; `None`: none did up to the highest asked for."""

    @property
    def rate_per_s(self) -> float | None:
        """The answer, the geometric mean of the bracket; `None` where an end is missing."""
        if self.low_per_s is None or self.high_per_s is None:
            return None
        return float((self.low_per_s * self.high_per_s) ** 0.5)

    @property
    def chosen(self) -> int:
        """Index of the probe whose figures are the step's: the last that met the objective at the
        highest such rate, or otherwise the first."""
        met = [
            place
            for place, probe in enumerate(self.probes)
            if not probe.missed and probe.rate_per_s == self.low_per_s
        ]
        return met[-1] if met else 0
