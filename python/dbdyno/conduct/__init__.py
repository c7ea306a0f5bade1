"""Carry out a study, run by run, so that it can be stopped at any moment and carried on later."""

from dbdyno.conduct.bench import BenchPlan, BenchResult, bench
from dbdyno.conduct.estimate import Estimate, estimate
from dbdyno.conduct.events import (
    Event,
    HostInspected,
    IntervalMeasured,
    LoadWarned,
    PhaseStarted,
    RunEnded,
    RunStarted,
    StudyStarted,
    TablesLoaded,
)
from dbdyno.conduct.load import bundled_studies, load_study
from dbdyno.conduct.study import StudyOutcome, conduct_study

__all__ = [
    "BenchPlan",
    "BenchResult",
    "Estimate",
    "Event",
    "HostInspected",
    "IntervalMeasured",
    "LoadWarned",
    "PhaseStarted",
    "RunEnded",
    "RunStarted",
    "StudyOutcome",
    "StudyStarted",
    "TablesLoaded",
    "bench",
    "bundled_studies",
    "conduct_study",
    "estimate",
    "load_study",
]
