"""Reading what was kept. Whatever is damaged is named: folder, file, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dbdyno.errors import StoreError, UsageError
from dbdyno.formats.documents import load_json, load_manifest, load_plan, load_summary
from dbdyno.formats.study import nearest
from dbdyno.model import Plan, RunManifest, StepSummary
from dbdyno.store.disk import sha256
from dbdyno.store.places import PARTIAL, SUMS

if TYPE_CHECKING:
    import pyarrow as pa

_RERUN = "take the folder out of the store; `dbdyno resume` then runs it again"
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class StoredRun:
    """A finished run folder. Every file is checked against its checksum when it is read."""

    path: Path

    @cached_property
    def manifest(self) -> RunManifest:
        """The run's head."""
        return load_manifest(self.read("manifest.json"), file=self.path / "manifest.json")

    @cached_property
    def summaries(self) -> tuple[StepSummary, ...]:
        """The figures, a step each; fewer than planned if the run was cut short."""
        return load_summary(self.read("summary.json"), file=self.path / "summary.json")

    @cached_property
    def series(self) -> pa.Table:
        """One row an interval and step."""
        # Arrow takes a quarter of a second to import: only who reads intervals pays for it.
        import pyarrow as pa

        from dbdyno.store.series import from_parquet

        content = self.read("series.parquet")
        try:
            return from_parquet(content)
        except pa.ArrowException as error:
            raise StoreError(f"{self.path / 'series.parquet'}: {error}", hint=_RERUN) from error

    def document(self, name: str) -> object:
        """A JSON document of the folder: `facts.json`, `settings.json`."""
        return load_json(self.read(name), file=self.path / name)

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises `StoreError` if it is missing, unreadable or changed."""
        file = self.path / name
        content = _read(file)
        expected = self._sums.get(name)
        if expected is None:
            raise StoreError(f"{file}: is not in {SUMS}", hint=_RERUN)
        if sha256(content) != expected:
            raise StoreError(f"{file}: was changed: its checksum differs", hint=_RERUN)
        return content

    def verify(self) -> None:
        """Reads everything; raises `StoreError` for the first file that is not as it was."""
        for name in self._sums:
            self.read(name)

    @cached_property
    def _sums(self) -> Mapping[str, str]:
        file = self.path / SUMS
        sums: dict[str, str] = {}
        for number, line in enumerate(_read(file).decode(errors="replace").splitlines(), 1):
            match = _SUM.fullmatch(line)
            if match is None:
                raise StoreError(f"{file}:{number}: not a checksum line", hint=_RERUN)
            sums[match[2]] = match[1]
        return sums


@dataclass(frozen=True)
class StoredStudy:
    """A study folder: its plan and the runs there are."""

    name: str
    path: Path

    @cached_property
    def plan(self) -> Plan:
        """What was to be run."""
        file = self.path / "study.json"
        return load_plan(_read(file), file=file)

    @cached_property
    def text(self) -> str:
        """The study file as it was run."""
        return _read(self.path / "study.toml").decode()

    def attempts(self) -> tuple[StoredRun, ...]:
        """Every finished folder, failed and interrupted ones too, by name."""
        folder = self.path / "runs"
        if not folder.is_dir():
            return ()
        names = sorted(entry.name for entry in _entries(folder) if not _is_partial(entry))
        return tuple(StoredRun(folder / name) for name in names)

    def runs(self) -> Mapping[str, StoredRun]:
        """Run id → its folder: the complete attempt if there is one, else the last."""
        chosen: dict[str, StoredRun] = {}
        for run in sorted(self.attempts(), key=_rank):
            chosen[run.manifest.id] = run
        return chosen


@dataclass(frozen=True)
class Store:
    """A folder of study folders."""

    root: Path

    def names(self) -> tuple[str, ...]:
        """Names of the studies kept here."""
        if not self.root.is_dir():
            return ()
        return tuple(
            sorted(entry.name for entry in _entries(self.root) if (entry / "study.json").is_file())
        )

    def study(self, name: str) -> StoredStudy:
        """Raises `UsageError` with the nearest name if there is none of this name."""
        if not (self.root / name / "study.json").is_file():
            match = nearest(name, self.names())
            hint = f"did you mean `{match}`?" if match else "`dbdyno list` shows what there is"
            raise UsageError(f"the store {self.root} holds no study `{name}`", hint=hint)
        return StoredStudy(name, self.root / name)


def _rank(run: StoredRun) -> tuple[bool, int]:
    return run.manifest.status == "complete", run.manifest.attempt


def _is_partial(entry: Path) -> bool:
    return entry.name.endswith(PARTIAL)


def _read(file: Path) -> bytes:
    return cast(bytes, _guarded(file, file.read_bytes))


def _entries(folder: Path) -> list[Path]:
    return cast("list[Path]", _guarded(folder, lambda: list(folder.iterdir())))


def _guarded(path: Path, read: Callable[[], object]) -> object:
    try:
        return read()
    except FileNotFoundError:
        raise StoreError(f"{path}: is missing", hint=_RERUN) from None
    except OSError as error:
        raise StoreError(f"{path}: can't be read: {error.strerror}", hint=_RERUN) from error
