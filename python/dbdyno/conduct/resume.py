"""Finding the study that was left unfinished, and making sure that it is still the same."""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno.conduct.load import bundled_studies, load_study
from dbdyno.design import plan as make_plan
from dbdyno.errors import UsageError
from dbdyno.formats.study import StudyFile
from dbdyno.model import Plan
from dbdyno.store import Store, StoredStudy


def load_unfinished(name: str, store: Store) -> tuple[StudyFile, Plan]:
    """The study file and plan to carry on with; `name` is one of the store, or a study's file.

    Raises `UsageError` if the store holds no such study, or the file now says something else.
    """
    stored = _stored(name, store)
    recorded = stored.plan
    file = _file(name, stored)
    loaded = load_study(str(file), scale=recorded.scale, called=recorded.study)
    blocks = max(run.block for run in recorded.runs)
    plan = make_plan(loaded.study, seed=recorded.seed, blocks=blocks)
    if plan.fingerprint != recorded.fingerprint:
        raise UsageError(
            f"{file} is not what {stored.path} was begun with: its cells, load or options differ",
            hint=f"compare it with {stored.path / 'study.toml'}; `dbdyno run` begins anew",
        )
    return loaded, plan


def _stored(name: str, store: Store) -> StoredStudy:
    if not name.endswith(".toml"):
        return store.study(name)
    stem = Path(name).stem
    form = re.compile(rf"{re.escape(stem)}(\.\d+)?")
    folders = [store.study(known) for known in store.names() if form.fullmatch(known)]
    unfinished = [folder for folder in folders if not _is_complete(folder)]
    if unfinished or folders:
        return (unfinished or folders)[-1]
    return store.study(stem)


def _file(name: str, stored: StoredStudy) -> Path:
    """The file named, the bundled study, or else the text kept in the store."""
    if name.endswith(".toml"):
        return Path(name)
    return bundled_studies().get(stored.plan.study, stored.path / "study.toml")


def _is_complete(stored: StoredStudy) -> bool:
    runs = stored.runs()
    return all(
        run.id in runs and runs[run.id].manifest.status == "complete" for run in stored.plan.runs
    )
