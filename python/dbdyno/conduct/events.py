"""What happens while a study is carried out, as data for whoever shows it."""

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
    """The store is open; what is not `missing` is there already."""

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
    """So many rows of a run's tables are in the server."""

    run: PlannedRun
    progress: Progress


@dataclass(frozen=True, slots=True)
class LoadWarned:
    """Something the reader should know of how a run's tables were loaded."""

    run: PlannedRun
    warning: EngineWarning


@dataclass(frozen=True, slots=True)
class HostInspected:
    """What distorts measurements on this machine or its server."""

    run: PlannedRun
    red_flags: tuple[RedFlag, ...]


@dataclass(frozen=True, slots=True)
class IntervalMeasured:
    """One more interval of a step."""

    run: PlannedRun
    step: Step
    interval: Interval


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is in the store, whatever became of it."""

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
