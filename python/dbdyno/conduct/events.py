"""Events of a study's execution, as data for whoever displays them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.collect import RedFlag
from dbdyno.model import (
    EngineWarning,
    Interval,
    Plan,
    PlannedRun,
    Progress,
    RunManifest,
    Step,
    StepSummary,
)


@dataclass(frozen=True, slots=True)
class StudyStarted:
    """The store is open; runs that are not `missing` are stored already."""

    plan: Plan
    folder: str
    missing: tuple[PlannedRun, ...]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins."""

    run: PlannedRun
    attempt: int


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A run enters a phase: `provision`, `prepare`, `step 0`, `collect`, `stop`."""

    run: PlannedRun
    phase: str


@dataclass(frozen=True, slots=True)
class TablesLoaded:
    """The server holds this many rows of a run's tables."""

    run: PlannedRun
    progress: Progress


@dataclass(frozen=True, slots=True)
class LoadWarned:
    """A warning about how a run's tables were loaded."""

    run: PlannedRun
    warning: EngineWarning


@dataclass(frozen=True, slots=True)
class HostInspected:
    """What distorts measurements on this machine or its server."""

    run: PlannedRun
    red_flags: tuple[RedFlag, ...]


@dataclass(frozen=True, slots=True)
class IntervalMeasured:
    """Another interval of a step was measured."""

    run: PlannedRun
    step: Step
    interval: Interval


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has been stored, whatever its outcome."""

    run: PlannedRun
    manifest: RunManifest
    summaries: tuple[StepSummary, ...]


Event = (
    StudyStarted
    | RunStarted
    | PhaseStarted
    | TablesLoaded
    | LoadWarned
    | HostInspected
    | IntervalMeasured
    | RunEnded
)
Observer = Callable[[Event], None]
