"""Writes one run folder: `<id>.partial` until it is complete, then renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import zstandard

from dbdyno.errors import StoreError
from dbdyno.formats import hlog
from dbdyno.formats.documents import dump_json, dump_manifest, dump_summary
from dbdyno.model import (
    Hello,
    HistogramRecord,
    Interval,
    Metric,
    Record,
    RunManifest,
    Sample,
    StepSummary,
    Summary,
    Turn,
    TurnResult,
)
from dbdyno.store import metrics, turns
from dbdyno.store.disk import make_folder, sha256, sync_folder, write_file, writing
from dbdyno.store.places import (
    HOST_JOURNAL,
    JOURNAL,
    METRICS,
    PARTIAL,
    RECORDS,
    SERIES,
    SUMS,
    TURNS,
)
from dbdyno.store.run_journal import Distribution, RunJournal
from dbdyno.store.series import row, to_parquet


class RunWriter:
    """Stores what a run produces, in order. Use it as a context manager.

    Without `commit`, the folder stays as `<id>.partial`: it is never taken for a result, but what
    its journal and the engine's records hold can be recovered (`recovery.py`).
    """

    def __init__(self, final: Path, *, aside: str = PARTIAL) -> None:
        self.final = final
        self.folder = final.with_name(final.name + aside)
        self._intervals: list[_Logged] = []
        self._turns: list[TurnResult] = []
        self._base_s: float | None = None
        self._step_offset_s = 0.0
        make_folder(self.logs)
        self._log = _Growing(self.folder / "latency.hlog")
        self._stream = _Growing(self.folder / RECORDS)
        self.journal = RunJournal(self.folder / JOURNAL)
        self._packer = zstandard.ZstdCompressor(level=3).compressobj()

    @property
    def logs(self) -> Path:
        """Where the server's log and the engine's standard error belong."""
        return self.folder / "logs"

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()
        for file in (self._log, self._stream):
            # A full disk shows in `commit` or in the write that met it; not a second time here.
            with suppress(StoreError):
                file.close()

    def record(self, step: int | None, line: bytes, record: Record) -> None:
        """Keeps a record; `step` is `None` for those of `prepare`. Raises `StoreError`.

        The file has all records up to the last interval; in turns, up to the last turn.
        """
        if isinstance(record, Hello):
            self.journal.call(step, record.start_unix_ns)
        self._stream.write(self._packer.compress(line.rstrip(b"\n") + b"\n"))
        if step is not None:
            self._add_series(step, record)
        if _is_complete(record):
            self._stream.write(self._packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))

    def series(self, step: int, records: Iterable[Record]) -> None:
        """Makes records that `record` got without a step the series of one. Raises `StoreError`."""
        for record in records:
            if isinstance(record, Hello):
                self.journal.chosen(step, record.start_unix_ns)
            self._add_series(step, record)

    def document(self, name: str, value: object) -> None:
        """Keeps a JSON document such as `facts.json`."""
        write_file(self.folder / name, dump_json(value))

    def turn(self, turn: TurnResult) -> None:
        """Keeps a turn for turns.parquet."""
        self._turns.append(turn)
        self.journal.turn(turn)

    def distribution(
        self, step: int, record: HistogramRecord, *, start_unix_s: float, length_s: float
    ) -> None:
        """Stores how long the events of a whole step took, if there are no intervals from an
        engine."""
        self.journal.distribution(Distribution(step, record, start_unix_s, length_s))
        self._begin_step(start_unix_s)
        line = hlog.line(step, record, start_s=self._step_offset_s, length_s=length_s)
        self._log.write(line.encode())

    def metrics(self, samples: Iterable[Sample], known: Mapping[str, Sequence[Metric]]) -> None:
        """Keeps what was sampled beside the load."""
        write_file(self.folder / METRICS, metrics.to_parquet(samples, known))

    def commit(self, manifest: RunManifest, summaries: tuple[StepSummary, ...]) -> Path:
        """Writes what remains, the checksums last, and gives the folder its name."""
        self._stream.write(self._packer.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
        for logged in self._intervals:
            self._log.write(logged.lines().encode())
        for file in (self._stream, self._log):
            file.close()
        write_file(self.folder / SERIES, self._series())
        if self._turns:
            write_file(self.folder / TURNS, turns.to_parquet(self._turns))
        self.journal.close()
        write_file(self.folder / "summary.json", dump_summary(summaries))
        write_file(self.folder / "manifest.json", dump_manifest(manifest))
        write_file(self.folder / SUMS, _sums(self.folder))
        sync_folder(self.folder)
        with writing(self.final, size=0):
            self.folder.rename(self.final)
        sync_folder(self.final.parent)
        self._remove_journals()
        return self.final

    def _remove_journals(self) -> None:
        """Removes the journals, whose contents are now in other files. Only after the rename: until
        then a recovery needs them."""
        for name in (JOURNAL, HOST_JOURNAL):
            with writing(self.final / name, size=0):
                (self.final / name).unlink(missing_ok=True)

    def _add_series(self, step: int, record: Record) -> None:
        if isinstance(record, Hello):
            self._begin_step(record.start_unix_ns / 1e9)
        elif isinstance(record, Interval):
            self._intervals.append(_Logged(step, self._step_offset_s, record))

    def _begin_step(self, start_unix_s: float) -> None:
        if self._base_s is None:
            self._base_s = start_unix_s
            self._log.write(hlog.header(start_unix_s).encode())
        self._step_offset_s = start_unix_s - self._base_s

    def _series(self) -> bytes:
        return to_parquet([row(logged.step, logged.interval) for logged in self._intervals])


class _Growing:
    """A file that is written piece by piece. All methods raise `StoreError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path, size=4096):
            self._file = path.open("wb")

    def write(self, content: bytes) -> None:
        """Appends `content`, which may be empty."""
        if content:
            with writing(self._path, size=len(content)):
                self._file.write(content)
                self._file.flush()

    def close(self) -> None:
        """May be called again."""
        with writing(self._path, size=0):
            self._file.close()


@dataclass(frozen=True, slots=True)
class _Logged:
    """An interval of a step. Its histograms are decoded in `commit`: while a load is measured, the
    lab keeps out of its way, and the records are safe without."""

    step: int
    step_offset_s: float
    interval: Interval

    def lines(self) -> str:
        """Its distributions in the log."""
        start_s = self.step_offset_s + self.interval.start_ns / 1e9
        length_s = (self.interval.end_ns - self.interval.start_ns) / 1e9
        return "".join(
            hlog.line(self.step, histogram, start_s=start_s, length_s=length_s)
            for histogram in self.interval.histograms
        )


def _is_complete(record: Record) -> bool:
    """Whether nothing more follows of its interval, or of its turn where there are turns."""
    if isinstance(record, Interval):
        return record.turn is None and record.phase != "pause"
    return isinstance(record, (Turn, Summary))


def _sums(folder: Path) -> bytes:
    """Digests in the form `sha256sum --check` reads."""
    files: Mapping[str, Path] = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (JOURNAL, HOST_JOURNAL)
    }
    lines = (f"{sha256(path.read_bytes())}  {name}\n" for name, path in sorted(files.items()))
    return "".join(lines).encode()
