"""A whole study: the missing runs of its plan, in order.

A run that fails for a reason of its own (its server died, refused or would not start, or the
engine was killed) is recorded and the study goes on. A failure that every run would share (script,
machine, engine, store) ends the study.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.batch import conduct_batch
from dbdyno.conduct.events import Observer, StudyStarted
from dbdyno.conduct.load import study_script_path
from dbdyno.conduct.sampling import own_collectors
from dbdyno.conduct.setting import Setting
from dbdyno.design.batches import batches
from dbdyno.engine import Engine
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import StudyFile
from dbdyno.model import Plan, RunManifest
from dbdyno.store import Store, open_study_folder


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The outcome of a study."""

    folder: str
    """The study's name in the store."""
    already: int
    """Runs completed earlier."""
    complete: int
    """Runs completed now."""
    failures: tuple[RunManifest, ...]
    """Runs that failed now; `resume` retries them."""

    def followed_by(self, more: StudyOutcome) -> StudyOutcome:
        """The sum of two outcomes: `more` continued the same study."""
        return StudyOutcome(
            more.folder,
            self.already,
            self.complete + more.complete,
            (*self.failures, *more.failures),
        )


def conduct_study(
    loaded: StudyFile,
    plan: Plan,
    store: Store,
    engine: Engine,
    *,
    observe: Observer,
    again: bool = False,
) -> StudyOutcome:
    """Carries out the missing runs of `plan` in `store`.

    `again` measures everything anew, beside what is stored. Raises `LabError`, and
    `InterruptedRunError` after storing what was measured.
    """
    with open_study_folder(store, Declared(loaded.study, plan), again=again) as folder:
        folders = study_script_path(loaded.file)
        setting = Setting(
            study=loaded.study,
            plan=plan,
            engine=engine,
            script_path=folders,
            observe=observe,
            own=own_collectors(loaded.study, folders),
        )
        missing = folder.missing(batches(plan, plan.runs))
        observe(StudyStarted(plan, folder.stored.name, missing))
        manifests = [
            manifest
            for batch in batches(plan, missing)
            for manifest in conduct_batch(setting, batch, folder)
        ]
    failures = tuple(manifest for manifest in manifests if manifest.status != "complete")
    return StudyOutcome(
        folder=folder.stored.name,
        already=len(plan.runs) - len(missing),
        complete=len(manifests) - len(failures),
        failures=failures,
    )
