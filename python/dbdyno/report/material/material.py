"""The input of a report, read from a store: the study, its plan and all runs.

Only this and `gather.py` depend on the store's layout; everything after them is a pure function.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dbdyno.model import (
    LeftOut,
    Metric,
    Note,
    Plan,
    RunManifest,
    Sampled,
    StepSummary,
    Study,
    TurnResult,
)

Column = NDArray[np.float64]

OF_A_RUN = re.compile(
    r"(^|_)(port|socket|pid|dir|datadir|directory|directories|file|path|hostname|uuid)$"
)
"""In names of settings that each run's server has for itself."""


@dataclass(frozen=True, slots=True)
class StepSeries:
    """One step interval by interval, warm-up and window only. Arrays are equally long."""

    start_s: Column
    """Beginning of each interval; 0 is the beginning of the window, warm-up is negative."""
    length_s: Column
    measured: NDArray[np.bool_]
    """Inside the window."""
    events_per_s: Column
    p99_ns: Column
    """NaN where no event ended."""
    origin_s: float = 0.0
    """The beginning of the window, from the start of the step's engine."""
    errors: Column = field(default_factory=lambda: np.empty(0))
    """Statements that failed in each interval; empty where nobody counted by interval."""
    reconnects: Column = field(default_factory=lambda: np.empty(0))

    @property
    def interval_s(self) -> float:
        """The usual length of an interval."""
        return float(np.median(self.length_s)) if self.length_s.size else 1.0


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """One instance of one sampled metric, in order of time."""

    unix_ns: NDArray[np.int64]
    values: Column


@dataclass(frozen=True, slots=True)
class Samples:
    """What was sampled beside the load, of the metrics that a report needs."""

    series: Mapping[tuple[str, str], Mapping[str, SampleSeries]] = field(default_factory=dict)
    """(source, metric) → instance → its samples."""
    metrics: Mapping[str, Mapping[str, Metric]] = field(default_factory=dict)
    """Source → name → what it is; of all that were sampled."""

    def is_counter(self, source: str, metric: str) -> bool:
        """Only its growth means something."""
        known = self.metrics.get(source, {}).get(metric)
        return known is not None and known.kind == "counter"


NO_SAMPLES = Samples()


@dataclass(frozen=True, slots=True)
class RunMaterial:
    """One run folder."""

    manifest: RunManifest
    summaries: Mapping[int, StepSummary]
    """By step; a step that never got to its window has none."""
    series: Mapping[int, StepSeries]
    facts: Mapping[str, object]
    settings: Mapping[str, str]
    turns: tuple[TurnResult, ...] = ()
    """Where cells were driven in turns."""
    samples: Samples = NO_SAMPLES

    def host(self, group: str) -> Mapping[str, object]:
        """One group of the host's facts, such as `processor`; empty if the run has none."""
        host = self.facts.get("host")
        found = host.get(group) if isinstance(host, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def processors(self) -> int | None:
        """Processors that the kernel shows, hardware threads included; `None` if not recorded."""
        threads = self.host("processor").get("threads")
        return threads if isinstance(threads, int) and threads > 0 else None


@dataclass(frozen=True, slots=True)
class Change:
    """Something about the analysis that was decided after the data."""

    what: str
    """A key of the study file: `primary`, `design.baseline`."""
    then: str
    """As it was when the study was run."""
    now: str


@dataclass(frozen=True, slots=True)
class Material:
    """A study, whole."""

    study: Study
    plan: Plan
    runs: tuple[RunMaterial, ...]
    """In the order in which they were carried out."""
    replaced: tuple[RunManifest, ...] = ()
    """Earlier attempts at repeated runs; shown, never counted."""
    damages: tuple[str, ...] = ()
    """Run folders that have changed since they were written, each with the error; excluded."""
    set_aside: frozenset[str] = frozenset()
    """The planned runs among them, by id."""
    changes: tuple[Change, ...] = ()
    """Differences between this report's analysis and the study as it was run."""
    left_out: tuple[LeftOut, ...] = ()
    """Cells that the machine could not run."""
    notes: tuple[Note, ...] = ()
    """What people have marked beside the runs, in order of time."""

    def words_of(self, name: str) -> str | None:
        """What a sampled metric counts, with its unit, as whoever sampled it has said; `None` for
        other figures, and where it was not sampled."""
        sampled = Sampled.parse(name)
        sources = [run.samples.metrics for run in self.runs if sampled]
        for metrics in sources:
            known = metrics.get(sampled.source, {}).get(sampled.metric) if sampled else None
            if known is not None:
                per = " per second" if known.kind == "counter" else ""
                return f"{known.text}{f', {known.unit}' if known.unit else ''}{per}"
        return None
