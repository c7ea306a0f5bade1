"""A whole study: its runs in the plan's order, those that are missing only.

A run that fails for a reason of its own (its server died, refused, would not start, or somebody
killed the engine) is recorded
and the study goes on. What would fail every run alike (script, machine, engine, store) ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.batch import conduct_batch
from dbdyno.conduct.events import Observer, StudyStarted
from dbdyno.conduct.load import study_script_path
from dbdyno.conduct.run import Setting
from dbdyno.conduct.sampling import own_collectors
from dbdyno.design.batches import batches
from dbdyno.engine import Engine
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import StudyFile
from dbdyno.model import Plan, RunManifest
from dbdyno.store import Store, open_study_folder


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

    def followed_by(self, more: StudyOutcome) -> StudyOutcome:
        """Both together: `more` went on with the same study."""
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
    """Carries out what is missing of `plan` in `store`.

    `again` measures anew, beside what is there. Raises `LabError`; `InterruptedRunError` after
    what was measured is in the store.
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
