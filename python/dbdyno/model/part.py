"""What the parts of a run say: what they miss on this machine, and what they sample.

A **setter** changes something for the length of a run and takes it back, a **generator** puts load
on, a **collector** samples. The words they share stand here, so that no part knows another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OWN_HOST_PARTS = frozenset({"cpus", "filesystem", "limits", "network", "scheduler"})
"""Setters that change nothing but what a run's own server and clients get of the host. Runs that
differ in them can be up together; what any other setter changes, every process sees."""

MetricKind = Literal["gauge", "counter"]
"""A gauge is true at an instant; of a counter only differences mean something."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a part can't do its work on this machine, in one line, and what to do about it."""

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
    """Which processor, disk or thread; empty where there is but one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A reading with its time and its source, as it is kept."""

    unix_ns: int
    source: str
    """The collector, or the generator, that read it."""
    metric: str
    instance: str
    value: float
