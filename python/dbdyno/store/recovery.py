"""Recovers runs whose process was killed: what it had measured becomes a stored run with the status
`interrupted`.

The partial folder stays as it is until the recovered one has its final name, so that a recovery may
be killed as well. The caller holds the lock of the store.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import zstandard

from dbdyno.errors import EngineError, InterruptedRunError
from dbdyno.formats.records import parse_record
from dbdyno.model import Failure, Hello, Interval, Record, RunManifest
from dbdyno.store.disk import writing
from dbdyno.store.places import (
    FACTS,
    HOST_JOURNAL,
    JOURNAL,
    PARTIAL,
    RECORDS,
    RECOVERED,
    SETTINGS,
    SUMS,
)
from dbdyno.store.run_journal import Journalled, journalled
from dbdyno.store.writer import RunWriter

_MADE = frozenset(
    (
        *(JOURNAL, HOST_JOURNAL, RECORDS, FACTS, SETTINGS, SUMS),
        *("latency.hlog", "manifest.json", "summary.json"),
    )
)
"""Files that a recovery writes anew; the others (logs, specs) are copied."""
_PIECE_BYTES = 1 << 16


def recover_runs(runs: Path) -> tuple[RunManifest, ...]:
    """Stores the killed runs in the folder `runs`, and removes partial folders without a journalled
    head. Returns the manifests of the stored ones. Raises `StoreError`."""
    for folder in runs.glob(f"*{RECOVERED}{PARTIAL}"):
        _remove(folder)
    manifests = (_recover(folder) for folder in sorted(runs.glob(f"*{PARTIAL}")))
    return tuple(manifest for manifest in manifests if manifest is not None)


def is_left(runs: Path) -> bool:
    """Whether `runs` has a partial folder: of a run in progress, or of a killed one."""
    return any(runs.glob(f"*{PARTIAL}"))


def _recover(folder: Path) -> RunManifest | None:
    final, left = folder.with_name(folder.name.removesuffix(PARTIAL)), journalled(folder)
    manifest = None
    if left.manifest is not None and not final.exists():
        manifest = _written(folder, final, left, left.manifest)
    _remove(folder)
    return manifest


def _written(folder: Path, final: Path, left: Journalled, head: RunManifest) -> RunManifest:
    with RunWriter(final, aside=f"{RECOVERED}{PARTIAL}") as writer:
        _copy_rest(folder, writer.folder)
        ended_unix_s = max(left.last_unix_s, _replayed(_records(folder / RECORDS), left, writer))
        for turn in left.turns:
            writer.turn(turn)
        for known in left.distributions:
            writer.distribution(
                known.step,
                known.record,
                start_unix_s=known.start_unix_s,
                length_s=known.length_s,
            )
        writer.metrics(left.samples, left.metrics)
        writer.document(FACTS, left.facts)
        writer.document(SETTINGS, {})
        manifest = replace(
            head,
            status="interrupted",
            ended_unix_s=ended_unix_s,
            phases=left.spans(ended_unix_s),
            steps=tuple(left.steps),
            error=_killed(ended_unix_s),
        )
        writer.commit(manifest, tuple(left.summaries))
    return manifest


def _replayed(
    records: Iterator[tuple[bytes, Record]], left: Journalled, writer: RunWriter
) -> float:
    """Writes the engine's records again; returns when the last interval ended, in seconds since
    1970."""
    calls, origin_ns, last_s, step = iter(left.calls), 0, 0.0, None
    for line, record in records:
        if isinstance(record, Hello):
            call = next(calls, None)
            step, origin_ns = None if call is None else call.step, record.start_unix_ns
        if isinstance(record, Interval):
            last_s = max(last_s, (origin_ns + record.end_ns) / 1e9)
        writer.record(step, line, record)
    return last_s


def _records(file: Path) -> Iterator[tuple[bytes, Record]]:
    """The whole lines of a stream that may be cut off anywhere, and their records."""
    try:
        packed = file.read_bytes()
    except OSError:
        return
    unpacker, pieces = zstandard.ZstdDecompressor().decompressobj(), []
    with suppress(zstandard.ZstdError):
        for start in range(0, len(packed), _PIECE_BYTES):
            pieces.append(unpacker.decompress(packed[start : start + _PIECE_BYTES]))
    text = b"".join(pieces)
    for number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines(), 1):
        try:
            yield line, parse_record(line, number=number)
        except EngineError:
            return


def _copy_rest(folder: Path, into: Path) -> None:
    """Copies regular files only, not the sockets and links of a dead server."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        made = str(name) in _MADE or path.suffix == ".parquet"
        if made or path.is_symlink() or not path.is_file():
            continue
        with writing(into / name, size=path.stat().st_size):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, into / name)


def _killed(ended_unix_s: float) -> Failure:
    until = time.strftime("%H:%M:%S", time.localtime(ended_unix_s))
    return Failure(
        InterruptedRunError.__name__,
        f"the lab was killed; what was measured until {until} is kept",
        InterruptedRunError.exit_code,
        hint="`dbdyno resume` runs it again",
    )


def _remove(folder: Path) -> None:
    with writing(folder, size=0):
        shutil.rmtree(folder)
