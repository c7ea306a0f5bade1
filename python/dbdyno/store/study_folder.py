"""A study folder in use: locked, with killed runs recovered."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from dbdyno.errors import InterruptedRunError, StoreError
from dbdyno.formats.left_out import NAME as LEFT_OUT
from dbdyno.formats.left_out import dump_left_out
from dbdyno.formats.stored_study import LOST, Declared, dump_declared
from dbdyno.model import LeftOut, Plan, PlannedRun, RunManifest
from dbdyno.store.disk import make_folder, replace_file, writing
from dbdyno.store.locked import locked
from dbdyno.store.places import ATTEMPT, PARTIAL, folder_name
from dbdyno.store.reader import Store, StoredStudy, folders_of
from dbdyno.store.recovery import is_left, recover_runs
from dbdyno.store.writer import RunWriter


class StudyFolder:
    """Where the runs of a plan are stored. Made by `open_study_folder`, which holds the lock."""

    def __init__(self, stored: StoredStudy, recovered: tuple[RunManifest, ...] = ()) -> None:
        self.stored = stored
        self.recovered = recovered
        """Runs that were killed, stored on opening as interrupted."""
        self._runs = stored.path / "runs"

    @property
    def path(self) -> Path:
        """The study's folder in the store."""
        return self.stored.path

    def missing(self, batches: Iterable[Sequence[PlannedRun]]) -> tuple[PlannedRun, ...]:
        """Runs of the batches that are not whole: all complete, all at the same time, and every
        file as it was written.

        Runs of a batch have the same number of attempt (`next_attempt`), so that two numbers are
        two times: what lies hours apart is not compared turn by turn.
        """
        sound = self.stored.survey(whole=True).runs
        kept = {name: run.manifest for name, run in sound.items()}
        attempts = {
            name: stored.attempt for name, stored in kept.items() if stored.status == "complete"
        }
        return tuple(
            run
            for batch in batches
            if len({attempts.get(planned.id) for planned in batch}) > 1
            or batch[0].id not in attempts
            for run in batch
        )

    def has_runs(self) -> bool:
        """Whether anything was ever measured here, with whatever outcome."""
        return self._runs.is_dir() and any(self._runs.iterdir())

    def next_attempt(self, batch: Sequence[PlannedRun]) -> int:
        """A number from 1 that no run of `batch` has used, nor a higher one."""
        attempts = (count(1) for _ in batch)
        return max(
            next(number for number in numbers if not self._folder(run, number).exists())
            for run, numbers in zip(batch, attempts, strict=True)
        )

    def writer(self, run: PlannedRun, *, attempt: int) -> RunWriter:
        """A new folder for a run. Raises `StoreError`."""
        return RunWriter(self._folder(run, attempt))

    def leave_out(self, cells: Sequence[LeftOut]) -> None:
        """Records which cells are not run, for reports. Raises `StoreError`."""
        file = self.path / LEFT_OUT
        if cells:
            replace_file(file, dump_left_out(cells))
        else:
            with writing(file, size=0):
                file.unlink(missing_ok=True)

    def remove_partial(self) -> None:
        """Removes partial folders of runs; only for the holder of the lock."""
        for folder in self._runs.glob(f"*{PARTIAL}"):
            with writing(folder, size=0):
                shutil.rmtree(folder)

    def _folder(self, run: PlannedRun, attempt: int) -> Path:
        return self._runs / (run.id if attempt == 1 else f"{run.id}{ATTEMPT}{attempt}")


@contextmanager
def open_study_folder(
    store: Store, declared: Declared, *, again: bool = False, whole: bool = False
) -> Iterator[StudyFolder]:
    """The folder for a plan, locked: one that holds this plan already, or a new one.

    A folder is never given another plan, but a longer one goes on in it: a changed study goes into
    `<study>.2` beside it, and so does the same one with `again`. What a study declares is
    written once, and anew only while nothing has been measured: an analysis chosen after the data
    must not look as if it had come first. A new folder is removed again if the block fails before
    anything was measured; with `whole`, if it fails at all. Raises `StoreError` if another process
    writes to this store: two studies measured at once would spoil each other's numbers.
    """
    make_folder(store.root)
    with locked(store.root):
        name = _choose(store, declared.plan, again=again)
        folder = store.root / name
        is_new = not folder.exists()
        study: StudyFolder | None = None
        try:
            study = _declare(folder, declared)
            yield study
        except Exception as error:
            # Whoever has interrupted it may go on with it.
            begun = study is not None and (
                study.has_runs() or isinstance(error, InterruptedRunError)
            )
            if is_new and (whole or not begun):
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _declare(folder: Path, declared: Declared) -> StudyFolder:
    """Makes the study's folder and writes what it declares, as far as that is not there."""
    make_folder(folder / "runs")
    recovered = recover_runs(folder / "runs")
    study = StudyFolder(StoredStudy(folder.name, folder), recovered)
    if not study.has_runs():
        replace_file(folder / "study.toml", declared.study.text.encode())
        replace_file(folder / "study.json", dump_declared(declared))
    elif study.stored.plan.blocks < declared.plan.blocks:
        longer = study.stored.extended(declared.plan)
        replace_file(folder / "study.json", dump_declared(longer))
        study = StudyFolder(StoredStudy(folder.name, folder), recovered)
    return study


def recover_study(store: Store, name: str) -> tuple[RunManifest, ...]:
    """Stores a study's killed runs, and returns their manifests; does nothing while another process
    holds the store, or if it can't be written."""
    runs = store.root / name / "runs"
    if not is_left(runs):
        return ()
    with suppress(StoreError), locked(store.root):
        return recover_runs(runs)
    return ()


def _choose(store: Store, plan: Plan, *, again: bool) -> str:
    folders = folders_of(store, plan.study)
    name = folder_name(plan.study, len(folders) + 1)
    runs = store.root / name / "runs"
    if runs.is_dir() and any(runs.iterdir()):
        raise StoreError(f"{runs.parent} holds runs, but its study.json is missing", hint=LOST)
    same = [stored.name for stored in folders if stored.plan.fingerprint == plan.fingerprint]
    return same[-1] if same and not again else name
