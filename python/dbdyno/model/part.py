"""What setters, generators and collectors have in common: what they miss on this machine, and what
they sample.

A **setter** changes something for a run and undoes it, a **generator** generates load, a
**collector** samples. Their shared types are here, so that none depends on another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NETWORKS = frozenset({"links", "network"})
"""Host settings by which a server is reached over TCP, at an address of its own."""
OWN_HOST_PARTS = frozenset(
    {"cpus", "environment", "filesystem", "limits", "links", "network", "scheduler"}
)
"""Setters that change nothing but what a run's own server and clients get of the host. Runs that
differ in them can be up together; what any other setter changes, every process sees."""

MetricKind = Literal["gauge", "counter"]
"""A gauge is a value at an instant; for a counter only differences matter."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a part can't work on this machine, in one line, and the remedy."""

    what: str
    cure: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that somebody samples. Names are stable: stored runs are compared by them."""

    name: str
    unit: str
    """As printed: `B`, `pages`, `µs`, `/s`; empty for plain counts."""
    kind: MetricKind
    text: str
    """What it counts, in a line."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of a metric at the instant of a sample."""

    metric: str
    value: float
    instance: str = ""
    """Which processor, disk or thread; empty if there is only one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A reading with its time and its source, as it is kept."""

    unix_ns: int
    source: str
    """The collector, or the generator, that read it."""
    metric: str
    instance: str
    value: float
