"""Finds an unfinished study and checks that it has not changed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.conduct.bundled import bundled_studies
from dbdyno.conduct.opening import open_study
from dbdyno.conduct.planning import as_begun
from dbdyno.design import plan as make_plan
from dbdyno.errors import UsageError
from dbdyno.formats.stored_study import IMPORTED, ONE_CALL
from dbdyno.formats.study import StudyFile
from dbdyno.model import Plan, Study
from dbdyno.store import Store, StoredStudy


@dataclass(frozen=True, slots=True)
class Measured:
    """A study's current file, and the folder of the store that holds its runs."""

    study: Study
    folder: str


def open_measured(name: str, store: Store) -> Measured:
    """The study file `name` and the newest runs of the same measurement, whatever the analysis
    asks.

    Raises `UsageError` if there are none.
    """
    folders = _folders(name, store)
    for stored in reversed(folders):
        loaded, plan = _planned(Path(name), stored.plan, run_code=False)
        if plan.fingerprint == stored.plan.fingerprint:
            return Measured(loaded.study, stored.name)
    if folders:
        raise _other(name, folders[-1], f"`dbdyno report {folders[-1].name}` reports those")
    raise UsageError(
        f"the store {store.root} holds no runs of {name}",
        hint=f"`dbdyno run {name}` makes them; `dbdyno list` shows what there is",
    )


def open_unfinished(name: str, store: Store) -> tuple[StudyFile, Plan]:
    """The study file and plan to resume; `name` is a study of the store, or a study's file.

    Raises `UsageError` if the store holds no such study, or the file has changed.
    """
    stored = _stored(name, store)
    if stored.text.startswith(ONE_CALL):
        raise UsageError(
            f"{stored.path} is a single `dbdyno bench` and can't be resumed",
            hint=f"repeat it: {stored.text.removeprefix('# ').strip()}",
        )
    if stored.text.startswith(IMPORTED):
        raise UsageError(
            f"{stored.path} holds imported results and can't be resumed",
            hint="import all files again, the new ones among them, under a name of their own",
        )
    file, folder = _file(name, stored)
    loaded, plan = _planned(file, stored.plan, folder, run_code=True)
    if plan.fingerprint != stored.plan.fingerprint:
        raise _other(str(file), stored, "`dbdyno run` starts from the beginning")
    # Sources named on the command line stay in use.
    return replace(loaded, study=replace(loaded.study, collect=stored.study.collect)), plan


def _planned(
    file: Path, recorded: Plan, folder: Path | None = None, *, run_code: bool
) -> tuple[StudyFile, Plan]:
    """The plan a file has now, with the recorded scale, seed and length; for a study that may stop
    early, with its greatest length. `folder`: of the file that it is a copy of."""
    loaded = open_study(
        str(file),
        scale=recorded.scale,
        called=recorded.study,
        folder=folder,
        run_code=run_code,
    )
    design, blocks = loaded.study.design, recorded.blocks
    if design.stop_half_width is not None:
        blocks = max(blocks, design.blocks)
    begun = as_begun(loaded.study, recorded, blocks=blocks)
    if begun is None:
        return loaded, make_plan(loaded.study, seed=recorded.seed, blocks=blocks)
    return replace(loaded, study=begun[0]), begun[1]


def _other(file: str, stored: StoredStudy, cure: str) -> UsageError:
    return UsageError(
        f"{file} has changed since {stored.path} was begun: its cells, load or options differ",
        hint=f"compare it with {stored.path / 'study.toml'}; {cure}",
    )


def _folders(name: str, store: Store) -> list[StoredStudy]:
    """The folders of a study's file, its own first."""
    form = re.compile(rf"{re.escape(Path(name).stem)}(\.(\d+))?")
    found = [(match, known) for known in store.names() if (match := form.fullmatch(known))]
    found.sort(key=lambda pair: int(pair[0][2] or 1))
    return [store.study(known) for _, known in found]


def _stored(name: str, store: Store) -> StoredStudy:
    if not name.endswith(".toml"):
        return store.study(name)
    folders = _folders(name, store)
    unfinished = [folder for folder in folders if not _is_complete(folder)]
    if unfinished or folders:
        return (unfinished or folders)[-1]
    return store.study(Path(name).stem)


def _file(name: str, stored: StoredStudy) -> tuple[Path, Path | None]:
    """The file named; or else the text kept in the store, with the folder where its file was. A
    bundled study is read where it is now: it may have moved since."""
    if name.endswith(".toml"):
        return Path(name), None
    bundled = bundled_studies().get(stored.plan.study)
    if bundled is not None and stored.folder in (None, bundled.parent):
        return bundled, None
    return stored.path / "study.toml", stored.folder


def _is_complete(stored: StoredStudy) -> bool:
    runs = stored.runs()
    return all(
        run.id in runs and runs[run.id].manifest.status == "complete" for run in stored.plan.runs
    )
