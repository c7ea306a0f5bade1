"""Events of a study's execution, as data for whoever displays them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.collect import RedFlag
from dbdyno.errors import LabError
from dbdyno.model import (
    EngineWarning,
    LeftOut,
    Plan,
    PlannedRun,
    Record,
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
class RunsRecovered:
    """Runs that were killed earlier are now stored as interrupted."""

    runs: tuple[RunManifest, ...]


@dataclass(frozen=True, slots=True)
class CellsLeftOut:
    """This machine lacks what some cells ask of it: they are not run."""

    cells: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins: its server is about to be set up."""

    run: PlannedRun
    attempt: int


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A run enters a phase: `provision`, `prepare`, `step 0`, `collect`, `stop`."""

    run: PlannedRun
    phase: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of the engine, or progress of a check of its tables."""

    run: PlannedRun
    command: str
    """`prepare`, `run` or `cleanup` of the engine; `verify` for tables being read."""
    step: Step | None
    """`None` for every command but `run`."""
    record: Record


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
class RunEnded:
    """A run has been stored, whatever its outcome."""

    run: PlannedRun
    manifest: RunManifest
    summaries: tuple[StepSummary, ...]
    failure: LabError | None
    """Why it failed or ended early."""


Event = (
    StudyStarted
    | RunsRecovered
    | CellsLeftOut
    | RunStarted
    | PhaseStarted
    | Recorded
    | LoadWarned
    | HostInspected
    | RunEnded
)
Observer = Callable[[Event], None]
