"""Reads stored runs. Errors name the damaged folder and file, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from dbdyno.design import cells
from dbdyno.errors import StoreError, UsageError
from dbdyno.formats.documents import parse_json, parse_manifest, parse_summary
from dbdyno.formats.left_out import NAME as LEFT_OUT
from dbdyno.formats.left_out import parse_left_out
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.stored_study import LOST, Declared, parse_declared
from dbdyno.model import LeftOut, Metric, Plan, RunManifest, StepSummary, Study, TurnResult
from dbdyno.store.disk import sha256
from dbdyno.store.places import (
    ATTEMPT,
    METRICS,
    PARTIAL,
    SERIES,
    SUMS,
    TURNS,
    folder_name,
)
from dbdyno.store.soundness import (
    DAMAGED,
    check_facts,
    check_manifest,
    check_series,
    check_settings,
    check_summaries,
    check_turns,
    reading,
)

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")

_CHECKED = {"facts.json": check_facts, "settings.json": check_settings}
_PROPERTIES = {
    "manifest.json": "manifest",
    "summary.json": "summaries",
    SERIES: "series",
    TURNS: "turns",
    METRICS: "metrics",
}
"""File of a run → the property that reads it."""
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class StoredRun:
    """A finished run folder. Every file is checked against its checksum when it is read."""

    path: Path

    @cached_property
    def manifest(self) -> RunManifest:
        """The run's head."""
        file = self.path / "manifest.json"
        with reading(file):
            found = parse_manifest(self.read("manifest.json"), file=file)
        check_manifest(found, file)
        return found

    @cached_property
    def summaries(self) -> tuple[StepSummary, ...]:
        """The figures, one entry per step; fewer than planned if the run was cut short."""
        file = self.path / "summary.json"
        with reading(file):
            found = parse_summary(self.read("summary.json"), file=file)
        check_summaries(found, file)
        return found

    @cached_property
    def series(self) -> pa.Table:
        """One row per interval and step."""
        from dbdyno.store.series import from_parquet

        table = self._parquet(SERIES, from_parquet)
        check_series(table, self.path / SERIES)
        return table

    @cached_property
    def turns(self) -> tuple[TurnResult, ...]:
        """The cell's turns; none if it was driven alone."""
        from dbdyno.store.turns import from_parquet

        turns = self._parquet(TURNS, from_parquet) if TURNS in self._sums else ()
        check_turns(turns, self.path / TURNS)
        return turns

    @cached_property
    def metrics(self) -> tuple[pa.Table, Mapping[str, Mapping[str, Metric]]] | None:
        """Samples taken beside the load, and their metrics; `None` if there are none."""
        from dbdyno.store.metrics import from_parquet

        return self._parquet(METRICS, from_parquet) if METRICS in self._sums else None

    def _parquet(self, name: str, parse: Callable[[bytes], _T]) -> _T:
        """A file of Arrow's, read by the module that writes it."""
        # Arrow takes a quarter of a second to import: only who reads such a file pays for it.
        import pyarrow as pa

        file, content = self.path / name, self.read(name)
        try:
            with reading(file):
                return parse(content)
        except pa.ArrowException as error:
            raise StoreError(f"{file}: {error}", hint=DAMAGED) from error

    def document(self, name: str) -> object:
        """A JSON document of the folder: `facts.json`, `settings.json`."""
        file = self.path / name
        with reading(file):
            found = parse_json(self.read(name), file=file)
        if name in _CHECKED:
            _CHECKED[name](found, file)
        return found

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises `StoreError` if it is missing, unreadable or changed."""
        file = self.path / name
        content = _read(file)
        expected = self._sums.get(name)
        if expected is None:
            raise StoreError(f"{file}: is not in {SUMS}", hint=DAMAGED)
        if sha256(content) != expected:
            raise StoreError(f"{file}: was changed: its checksum differs", hint=DAMAGED)
        return content

    def verify(self) -> None:
        """Reads everything; raises `StoreError` for the first file that has changed."""
        for name in self._sums:
            self.read(name)

    def check(self, *, whole: bool) -> None:
        """Raises `StoreError` if the folder is not a run's, or its head was changed; with `whole`,
        if any of its files was."""
        identity = self.manifest.id
        if self.path.name.partition(ATTEMPT)[0] != identity:
            raise StoreError(
                f"{self.path}: is the run `{identity}` under another name",
                hint="a copy of a run is no repeat of it: take it out of the store",
            )
        for name in self._sums if whole else ():
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        """Reads a file, and what is in it where that is known."""
        if name in _CHECKED:
            self.document(name)
        elif name in _PROPERTIES:
            getattr(self, _PROPERTIES[name])
        else:
            self.read(name)

    @cached_property
    def _sums(self) -> Mapping[str, str]:
        file = self.path / SUMS
        sums: dict[str, str] = {}
        for number, line in enumerate(_read(file).decode(errors="replace").splitlines(), 1):
            match = _SUM.fullmatch(line)
            if match is None:
                raise StoreError(f"{file}:{number}: not a checksum line", hint=DAMAGED)
            sums[match[2]] = match[1]
        return sums


@dataclass(frozen=True, slots=True)
class Damage:
    """A run's folder that has changed since it was written."""

    path: Path
    text: str
    """Which file, and what is wrong with it."""

    @property
    def run(self) -> str:
        """The id of the run whose folder it is, by its name."""
        return self.path.name.partition(ATTEMPT)[0]


@dataclass(frozen=True, slots=True)
class Survey:
    """The content of a study's folder."""

    runs: Mapping[str, StoredRun]
    """Run id → the attempt that counts."""
    replaced: tuple[StoredRun, ...]
    """Other attempts."""
    damages: tuple[Damage, ...]
    """Folders set aside: nothing is read from them."""


@dataclass(frozen=True)
class StoredStudy:
    """A study folder: its plan and the runs there are."""

    name: str
    path: Path

    @cached_property
    def _declared(self) -> Declared:
        file = self.path / "study.json"
        declared = parse_declared(_read(file, hint=LOST), file=file)
        try:
            cells(declared.study)
        except ValueError as error:
            raise StoreError(f"{file}: `study` has no cells: {error}", hint=LOST) from error
        return declared

    @property
    def plan(self) -> Plan:
        """The plan that was stored with the study."""
        return self._declared.plan

    @property
    def study(self) -> Study:
        """The study as it was resolved when it was run, named after the folder."""
        return replace(self._declared.study, name=self.name)

    @property
    def folder(self) -> Path | None:
        """Where the study's file was when it was run; `None`: not known, or not there any more."""
        folder = self._declared.folder
        return Path(folder) if folder and Path(folder).is_dir() else None

    def extended(self, plan: Plan) -> Declared:
        """What was declared, with a longer plan."""
        return replace(self._declared, plan=plan)

    @cached_property
    def text(self) -> str:
        """The study file as it was run."""
        file = self.path / "study.toml"
        try:
            return _read(file, hint=LOST).decode()
        except UnicodeDecodeError as error:
            raise StoreError(f"{file}: is not text: {error.reason}", hint=LOST) from error

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Cells that the last command could not run here. Raises `StoreError`."""
        file = self.path / LEFT_OUT
        return parse_left_out(_read(file), file=file) if file.exists() else ()

    def attempts(self) -> tuple[StoredRun, ...]:
        """Every finished folder, failed and interrupted ones too, by name."""
        folder = self.path / "runs"
        if not folder.is_dir():
            return ()
        names = sorted(entry.name for entry in _entries(folder) if not _is_partial(entry))
        return tuple(StoredRun(folder / name) for name in names)

    def runs(self) -> Mapping[str, StoredRun]:
        """Run id → its folder: the complete attempt if there is one, otherwise the last."""
        return self.survey().runs

    def survey(self, *, whole: bool = False) -> Survey:
        """The runs, and the damaged folders.

        Checked by each run's head or, with `whole`, by all its files.
        """
        sound: list[StoredRun] = []
        damages: list[Damage] = []
        for run in self.attempts():
            try:
                run.check(whole=whole)
                sound.append(run)
            except StoreError as error:
                damages.append(Damage(run.path, error.message))
        chosen: dict[str, StoredRun] = {}
        for run in sorted(sound, key=_rank):
            chosen[run.manifest.id] = run
        kept = {run.path for run in chosen.values()}
        replaced = tuple(run for run in sound if run.path not in kept)
        return Survey(chosen, replaced, tuple(damages))


@dataclass(frozen=True)
class Store:
    """A folder of study folders."""

    root: Path

    def names(self) -> tuple[str, ...]:
        """Names of the studies kept here, those that have lost their `study.json` too."""
        if not self.root.is_dir():
            return ()
        return tuple(sorted(entry.name for entry in _entries(self.root) if _is_study(entry)))

    def study(self, name: str) -> StoredStudy:
        """Raises `UsageError` with the nearest name if there is none of this name."""
        if name in self.names():
            return StoredStudy(name, self.root / name)
        hint = nearest_hint(name, self.names()) or "`dbdyno list` shows what there is"
        raise UsageError(f"the store {self.root} holds no study `{name}`", hint=hint)


def _is_study(folder: Path) -> bool:
    return (folder / "study.json").is_file() or (folder / "runs").is_dir()


def folders_of(store: Store, study: str) -> tuple[StoredStudy, ...]:
    """`study`, `study.2`, …: the folders there are of a study, the oldest first."""
    folders: list[StoredStudy] = []
    while True:
        name = folder_name(study, len(folders) + 1)
        folder = store.root / name
        if not (folder / "study.json").exists():
            return tuple(folders)
        folders.append(StoredStudy(name, folder))


def _rank(run: StoredRun) -> tuple[bool, int]:
    return run.manifest.status == "complete", run.manifest.attempt


def _is_partial(entry: Path) -> bool:
    return entry.name.endswith(PARTIAL)


def _read(file: Path, *, hint: str = DAMAGED) -> bytes:
    # Reading from a pipe or a device in its place might never end.
    if file.exists() and not file.is_file():
        raise StoreError(f"{file}: is no file", hint=hint)
    return cast(bytes, _guarded(file, file.read_bytes, hint))


def _entries(folder: Path) -> list[Path]:
    hint = "its owner must let you read it, or name another store with --store"
    return cast("list[Path]", _guarded(folder, lambda: list(folder.iterdir()), hint))


def _guarded(path: Path, read: Callable[[], object], hint: str) -> object:
    try:
        return read()
    except FileNotFoundError:
        raise StoreError(f"{path}: is missing", hint=hint) from None
    except OSError as error:
        raise StoreError(f"{path}: can't be read: {error.strerror}", hint=hint) from error
