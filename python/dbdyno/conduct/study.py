"""A whole study: the missing runs of its plan, in order.

A run that fails for a reason of its own (its server died, refused or would not start, its script or
outside program failed, or the engine was killed) is recorded and the study goes on; a cell that is
refused twice in the same words is not tried a third time (`refusals.py`). A failure that every run
would share (machine, engine, store; a script that fails in every cell) ends the study. Cells whose
host settings this machine can't have are left out (`left_out.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from dbdyno.conduct.batch import conduct_batch
from dbdyno.conduct.cell_server import open_cell_server
from dbdyno.conduct.events import CellsLeftOut, Observer, RunsRecovered, StudyStarted
from dbdyno.conduct.left_out import lacking_cells, runs_without, why_nothing_to_run
from dbdyno.conduct.load_hosts import open_load_hosts
from dbdyno.conduct.opening import study_script_path, study_scripts
from dbdyno.conduct.refusals import Refusals
from dbdyno.conduct.sampling import own_collectors
from dbdyno.conduct.setting import Setting
from dbdyno.design.batches import batches
from dbdyno.engine import Engine
from dbdyno.errors import ScriptError
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import StudyFile
from dbdyno.guard.account import server_account
from dbdyno.model import LeftOut, Plan, PlannedRun, RunManifest
from dbdyno.servers import InitialData
from dbdyno.servers.nodes.place import data_parent
from dbdyno.store import Store, StudyFolder, open_study_folder


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
    left_out: tuple[LeftOut, ...] = ()
    """Cells that this machine can't run."""

    def followed_by(self, more: StudyOutcome) -> StudyOutcome:
        """The sum of two outcomes: `more` continued the same study."""
        return StudyOutcome(
            more.folder,
            self.already,
            self.complete + more.complete,
            (*self.failures, *more.failures),
            more.left_out,
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
    with (
        open_study_folder(
            store, Declared(loaded.study, plan, str(loaded.folder)), again=again
        ) as folder,
        InitialData(data_parent(folder.path, server_account())) as initial,
        ExitStack() as stack,
    ):
        folders = study_script_path(loaded)
        scripts = study_scripts(loaded)
        setting = Setting(
            study=loaded.study,
            plan=plan,
            engine=engine,
            script_path=folders,
            observe=observe,
            own=own_collectors(loaded.study, folders),
            open_server=partial(open_cell_server, initial=initial, secrets=loaded.secrets),
            scripts=scripts,
        )
        missing, left_out = _to_run(loaded, plan, folder)
        if missing:
            opened = open_load_hosts(loaded.study, engine, scripts, folders)
            setting = replace(setting, hosts=stack.enter_context(opened))
        folder.leave_out(left_out)
        observe(StudyStarted(plan, folder.stored.name, missing))
        if folder.recovered:
            observe(RunsRecovered(folder.recovered))
        if left_out:
            observe(CellsLeftOut(left_out))
        already = len(runs_without(plan, left_out)) - len(missing)
        manifests = _conduct(setting, missing, folder, any_complete=already > 0)
    failures = tuple(manifest for manifest in manifests if manifest.status != "complete")
    return StudyOutcome(
        folder=folder.stored.name,
        already=already,
        complete=len(manifests) - len(failures),
        failures=failures,
        left_out=left_out,
    )


def _conduct(
    setting: Setting, missing: Sequence[PlannedRun], folder: StudyFolder, *, any_complete: bool
) -> Sequence[RunManifest]:
    """Batch by batch; a script that failed in every cell of a block would fail in the next one."""
    done: list[RunManifest] = []
    refusals = Refusals()
    for batch in batches(setting.plan, missing):
        kinds = {run.error.kind for run in done if run.error}
        next_block = bool(done) and batch[0].block != done[-1].block
        if next_block and not any_complete and kinds == {ScriptError.__name__}:
            break
        found = conduct_batch(setting, batch, folder, hopeless=refusals.hopeless(batch))
        refusals.see(found)
        done += found
        any_complete = any_complete or any(run.status == "complete" for run in found)
    return done


def _to_run(
    loaded: StudyFile, plan: Plan, folder: StudyFolder
) -> tuple[tuple[PlannedRun, ...], tuple[LeftOut, ...]]:
    """Runs that are not in the store, and the cells left out of them; a cell that was measured
    elsewhere, or when this machine could, is not.

    Raises `MachineError` if there is nothing left to measure, or nothing to compare it with.
    """
    lacking = lacking_cells(plan)
    able = runs_without(plan, lacking)
    ids = {run.id for run in able}
    others = tuple(run for run in plan.runs if run.id not in ids)
    absent = folder.missing(batches(plan, others)) if others else ()
    levels = [run.cell.levels for run in absent]
    left_out = tuple(cell for cell in lacking if cell.levels in levels)
    refusal = why_nothing_to_run(plan, loaded.study.design.baseline, left_out)
    if refusal is not None:
        raise refusal
    return folder.missing(batches(plan, able)), left_out
