"""Carries out a study run by run; it can be stopped at any time and resumed later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.conduct.bench import BenchPlan, BenchResult
    from dbdyno.conduct.bundled import bundled_studies
    from dbdyno.conduct.estimate import Estimate
    from dbdyno.conduct.events import (
        CellsLeftOut,
        Event,
        HostInspected,
        LoadWarned,
        PhaseStarted,
        Recorded,
        RunEnded,
        RunsRecovered,
        RunStarted,
        StudyStarted,
    )
    from dbdyno.conduct.opening import open_study
    from dbdyno.conduct.study import StudyOutcome, conduct_study

__all__ = [
    "BenchPlan",
    "BenchResult",
    "CellsLeftOut",
    "Estimate",
    "Event",
    "HostInspected",
    "LoadWarned",
    "PhaseStarted",
    "Recorded",
    "RunEnded",
    "RunStarted",
    "RunsRecovered",
    "StudyOutcome",
    "StudyStarted",
    "bundled_studies",
    "conduct_study",
    "open_study",
]

_PLACES = {
    "BenchPlan": "bench",
    "BenchResult": "bench",
    "CellsLeftOut": "events",
    "Estimate": "estimate",
    "Event": "events",
    "HostInspected": "events",
    "LoadWarned": "events",
    "PhaseStarted": "events",
    "Recorded": "events",
    "RunEnded": "events",
    "RunStarted": "events",
    "RunsRecovered": "events",
    "StudyStarted": "events",
    "bundled_studies": "bundled",
    "open_study": "opening",
    "StudyOutcome": "study",
    "conduct_study": "study",
}

__getattr__ = on_demand(__name__, _PLACES)
