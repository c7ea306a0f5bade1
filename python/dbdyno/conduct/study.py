"""A whole study: its runs in the plan's order, those that are missing only.

A run that fails for a reason of its own (its server died, refused, would not start, or somebody
killed the engine) is recorded
and the study goes on. What would fail every run alike (script, machine, engine, store) ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.events import Observer, RunEnded, RunStarted, StudyStarted
from dbdyno.conduct.load import study_script_path
from dbdyno.conduct.run import RunConductor, Setting
from dbdyno.engine import Engine
from dbdyno.errors import (
    EngineLostError,
    InterruptedRunError,
    LabError,
    ServerError,
    StatementError,
    StoreError,
)
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import StudyFile
from dbdyno.model import Plan, PlannedRun, RunManifest
from dbdyno.store import Store, StudyFolder, open_study_folder

_RUN_S_OWN = (ServerError, StatementError, EngineLostError)


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """What became of a study."""

    folder: str
    """The study's name in the store."""
    already: int
    """Runs that were complete before."""
    complete: int
    """Runs completed now."""
    failures: tuple[RunManifest, ...]
    """Runs that failed now; `resume` tries them again."""


def conduct_study(
    loaded: StudyFile,
    plan: Plan,
    store: Store,
    engine: Engine,
    *,
    observe: Observer,
    again: bool = False,
) -> StudyOutcome:
    """Carries out what is missing of `plan` in `store`.

    `again` measures anew, beside what is there. Raises `LabError`; `InterruptedRunError` after
    what was measured is in the store.
    """
    with open_study_folder(store, Declared(loaded.study, plan), again=again) as folder:
        setting = Setting(
            study=loaded.study,
            plan=plan,
            engine=engine,
            script_path=study_script_path(loaded.file),
            observe=observe,
        )
        complete = folder.complete()
        missing = [run for run in plan.runs if run.id not in complete]
        observe(StudyStarted(plan, folder.stored.name, tuple(missing)))
        manifests = [_conduct_run(setting, run, folder) for run in missing]
    failures = tuple(manifest for manifest in manifests if manifest.status != "complete")
    return StudyOutcome(
        folder=folder.stored.name,
        already=len(plan.runs) - len(missing),
        complete=len(manifests) - len(failures),
        failures=failures,
    )


def _conduct_run(setting: Setting, run: PlannedRun, folder: StudyFolder) -> RunManifest:
    attempt = folder.next_attempt(run)
    setting.observe(RunStarted(run, attempt))
    with folder.writer(run, attempt=attempt) as writer:
        conductor = RunConductor(setting, run, writer, attempt)
        failure: LabError | None = None
        try:
            conductor.carry_out()
        except KeyboardInterrupt:
            failure = InterruptedRunError(f"interrupted in run {run.id}; what was measured is kept")
        except StoreError:
            raise  # nothing more can be written; the partial folder is removed by the next run
        except LabError as error:
            failure = error
        manifest = conductor.finish(failure)
    setting.observe(RunEnded(run, manifest, tuple(conductor.summaries)))
    if failure is not None and not isinstance(failure, _RUN_S_OWN):
        raise failure
    return manifest
