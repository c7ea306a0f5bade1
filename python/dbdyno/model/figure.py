"""What a figure of a step is: its title, its unit, how it is read and worked out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.model.result import StepSummary


@dataclass(frozen=True, slots=True)
class Counted:
    """Sampled counters whose growth, added up, is one amount."""

    source: str
    metrics: tuple[str, ...]
    instance: str | None = None
    """`None`: the sum over all there are, or of disks the one with the server's data."""
    factor: float = 1.0
    """From the counters' unit to the figure's."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A metric by its own name: over a step, the mean of a gauge, the growth a second of a
    counter."""

    source: str
    metric: str
    instance: str | None = None

    @classmethod
    def parse(cls, name: str) -> Sampled | None:
        """`source.metric`, or `source.metric.instance`; `None` if it is no such name."""
        match = _SAMPLED.fullmatch(name)
        return cls(match[1], match[2], match[3]) if match else None


_SAMPLED = re.compile(r"([a-z]\w*)\.([a-z]\w*)(?:\.(\S+))?")


MAX_EVENTS = 10_000
"""Least number of events for the greatest response time to decide: as many as p99.9 needs. It has
no rank of its own and grows with the number of events; of fewer it is a percentile that nobody
named, and one event decides."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one step of one run."""

    title: str
    unit: str
    higher_is_better: bool
    read: Callable[[StepSummary], float | None]
    """Reads it; `None` if it was not measured."""
    least_events: int = 1
    """Least number of events for the step to say anything about it: ten beyond the rank of a
    percentile; for the greatest, `MAX_EVENTS`."""
    rate: bool = False
    """Whether it counts by time, so that a change is `faster` or `slower`."""
    events: Callable[[StepSummary], int] = lambda summary: summary.events
    """How many events it is based on."""
    counted: tuple[Counted, ...] = ()
    """What it is the growth of, per event, of those there are; `read` then finds it worked out."""
    share: bool = False
    """How many of the events it is true of: compared by its difference, not by its ratio."""
    tries: Callable[[StepSummary], int] | None = None
    """Of a share of something other than events, such as statements: how many there were. They
    depend on one another, so blocks are compared, not trials."""

    @property
    def of_trials(self) -> bool:
        """A share of independent trials; a load has no pace beside them."""
        return self.share and self.tries is None

    @property
    def label(self) -> str:
        """With its unit, unless its words say it."""
        return f"{self.title}, {self.unit}" if self.unit not in ("", "/s") else self.title

    @property
    def words(self) -> str:
        """The title within a sentence; names and abbreviations keep their case."""
        return self.title if self.title[1:2].isupper() else self.title[:1].lower() + self.title[1:]

    def factor(self, unit: str) -> float | None:
        """What a value is multiplied by to be in `unit`, as somebody else may have told it; `None`
        where that makes no sense. Empty is the figure's own; rates may be per minute or hour."""
        if unit in ("", self.unit):
            return 1.0
        if self.unit in _OF_A_MICROSECOND:
            per_microsecond = _OF_A_MICROSECOND.get(unit)
            return (
                None if per_microsecond is None else per_microsecond / _OF_A_MICROSECOND[self.unit]
            )
        if unit in _OF_A_MICROSECOND:
            return None
        per = unit.rpartition("/")[2]
        return {"min": 60.0, "h": 3600.0}.get(per, 1.0) if self.rate else 1.0


_OF_A_MICROSECOND = {"us": 1.0, "µs": 1.0, "ms": 1e-3, "s": 1e-6, "min": 1 / 60e6}
