"""A `bench` as a study of one cell, or of two sides, with one step; in the store or discarded.

So a bench has facts, settings, intervals and a report, and can be inspected years later. It is
named after its script and the time; it has no study file, so `study.toml` holds the command that
repeats it.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dbdyno.conduct.bench_sides import BenchSide, factor_of, question_of
from dbdyno.design import plan as make_plan
from dbdyno.engine.script import is_shipped
from dbdyno.formats.stored_study import ONE_CALL, Declared
from dbdyno.model import Design, Load, Option, Plan, RunManifest, Study, Workload
from dbdyno.store import Store, StudyFolder, open_study_folder
from dbdyno.store.recovery import recover_runs

_PREFIX = "bench-"


class Called(Protocol):
    """The parts of a bench that its study holds."""

    @property
    def options(self) -> Mapping[str, Option]: ...
    @property
    def load(self) -> Load: ...
    @property
    def seed(self) -> int: ...
    @property
    def command_line(self) -> str: ...
    @property
    def collect(self) -> tuple[str, ...]: ...
    @property
    def repeat(self) -> int: ...


def study_of(called: Called, script: Path, sides: Sequence[BenchSide]) -> Study:
    """A cell for each side, the first of several being the baseline: the script on its
    database."""
    name, factor = script_name(script), factor_of(sides)
    stem = re.sub(r"[^A-Za-z0-9._+-]", "-", script.stem)
    baseline = {factor.name: sides[0].name} if len(sides) > 1 else {}
    return Study(
        name=f"{_PREFIX}{stem}-{time.strftime('%Y%m%d-%H%M%S')}",
        question=question_of(sides, script.stem),
        factors=(factor,),
        workload=Workload(name, dict(called.options)),
        load=called.load,
        design=Design(blocks=called.repeat, baseline=baseline, seed=called.seed),
        collect=called.collect,
        text=f"{ONE_CALL}{called.command_line.removeprefix('dbdyno bench').strip()}\n",
    )


def script_name(script: Path) -> str:
    """What the study calls it: by its file, if it is somebody's own and only looks like one of
    ours. Which file is run is not decided by it."""
    return script.stem if is_shipped(script) else script.name


def plan_of(study: Study, seed: int, *, measured: bool) -> Plan:
    """The study's runs. Their tables are made with `seed`, and a single run is driven with it, too;
    several have seeds derived from it. Without steps if nothing is measured."""
    plan = make_plan(study, seed=seed)
    runs = [replace(run, data_seed=seed) for run in plan.runs]
    if len(runs) == 1:
        steps = tuple(replace(step, seed=seed) for step in runs[0].steps)
        runs = [replace(runs[0], seed=seed, steps=steps)]
    if not measured:
        runs = [replace(run, steps=()) for run in runs]
    return replace(plan, runs=tuple(runs))


@dataclass(slots=True)
class OneRun:
    """Where a bench is stored."""

    folder: StudyFolder
    forgotten: bool = True
    """Whether its folder is removed in the end; until something was measured it is."""


@contextmanager
def one_run_folder(store: Store, study: Study, plan: Plan) -> Iterator[OneRun]:
    """The folder of a bench, locked. Raises `StoreError` if the store can't be written."""
    with open_study_folder(store, Declared(study, plan), again=True) as folder:
        _sweep(store, but=folder.path)
        attempt = OneRun(folder)
        try:
            yield attempt
        finally:
            folder.remove_partial()
            if attempt.forgotten or not folder.has_runs():
                shutil.rmtree(folder.path, ignore_errors=True)


def _sweep(store: Store, *, but: Path) -> None:
    """Recovers what a killed bench had measured, or removes its folder. We hold the lock."""
    for folder in store.root.glob(f"{_PREFIX}*"):
        if folder == but:
            continue
        recovered = recover_runs(folder / "runs")
        unmeasured = {run.id for run in recovered if not _was_under_load(run)}
        kept = [path for path in folder.glob("runs/*") if path.name not in unmeasured]
        if not kept and (folder / "study.json").is_file():
            shutil.rmtree(folder, ignore_errors=True)


def _was_under_load(run: RunManifest) -> bool:
    return any(span.name.startswith("step ") for span in run.phases)
