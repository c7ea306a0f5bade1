"""SQLite's files: database, write-ahead log, and what of the database the kernel holds in memory.

They are read without a connection, so that nobody's lock is taken: the database's header, and the
log's index in shared memory, as SQLite's pages on its file formats describe them. Each connection's
own page cache lies in the engine and is not seen.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.model import Metric, Missing, Reading

_HEADER_BYTES = 40
_PAGE_SIZE = struct.Struct(">16xH")
_COUNTS = struct.Struct(">24xII4xI")
"""Change counter, pages, and at 36 the pages on the list of free ones."""
_WRITTEN_BY, _LOGGED = 18, 2
"""Where the header says by which version of the format it is written, and that of the log."""
_INDEX_BYTES = 100
_INDEX = struct.Struct("=8xI4xI")
"""Of the log's index, in the machine's byte order: changes, frames."""
_BACKFILLED = struct.Struct("=96xI")
_LARGEST_PAGE_BYTES = 65536
_CACHESTAT = 451
"""The system call, of Linux 6.5 and later."""


@dataclass(slots=True)
class _Changes:
    """A counter of whoever writes the file now; it begins anew with each log's index."""

    before: int = 0
    last: int = 0

    def reading(self, count: int) -> Reading:
        if count < self.last:
            self.begin_anew()
        self.last = count
        return Reading("changes", self.before + count)

    def begin_anew(self) -> None:
        self.before, self.last = self.before + self.last, 0


@dataclass(frozen=True, slots=True)
class _Files:
    database: Path
    changes: _Changes = field(default_factory=_Changes)

    def sample(self) -> Iterable[Reading]:
        with self.database.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            held = _held_pages(file.fileno())
        if held is not None:
            yield Reading("kernel_cached_bytes", held * os.sysconf("SC_PAGE_SIZE"))
        yield Reading("database_bytes", self.database.stat().st_size)
        if len(header) < _HEADER_BYTES:
            return
        (page_bytes,) = _PAGE_SIZE.unpack_from(header)
        changes, pages, free = _COUNTS.unpack_from(header)
        yield Reading("page_bytes", _LARGEST_PAGE_BYTES if page_bytes == 1 else page_bytes)
        yield Reading("pages", pages)
        yield Reading("free_pages", free)
        if header[_WRITTEN_BY] == _LOGGED:
            yield from self._log()
        else:
            yield self.changes.reading(changes)

    def _log(self) -> Iterator[Reading]:
        """Of the write-ahead log, which is there while somebody has the file open."""
        log = self.database.with_name(f"{self.database.name}-wal")
        index = self.database.with_name(f"{self.database.name}-shm")
        try:
            log_bytes, head = log.stat().st_size, _head(index)
        except FileNotFoundError:
            self.changes.begin_anew()
            return
        yield Reading("log_bytes", log_bytes)
        if len(head) == _INDEX_BYTES:
            changes, frames = _INDEX.unpack_from(head)
            yield self.changes.reading(changes)
            yield Reading("log_frames", frames)
            yield Reading("log_frames_copied", _BACKFILLED.unpack_from(head)[0])

    def close(self) -> None:
        """Nothing to free: no file stays open."""


def _head(index: Path) -> bytes:
    with index.open("rb") as file:
        return file.read(_INDEX_BYTES)


def _held_pages(file: int) -> int | None:
    """Pages of a file in the kernel's page cache; `None` where the kernel does not tell."""
    whole, counts = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    refused = ctypes.CDLL(None).syscall(_CACHESTAT, file, whole, counts, 0)
    return None if refused else int(counts[0])


def _open(watched: Watched) -> Readings | Missing | None:
    if watched.kind != "sqlite" or watched.data_folder is None:
        return None
    databases = sorted(watched.data_folder.glob("*.db"))
    return _Files(databases[0]) if databases else None


COLLECTOR = Collector(
    "sqlite",
    "run",
    (
        Metric("database_bytes", "B", "gauge", "Size of the database's file"),
        Metric("kernel_cached_bytes", "B", "gauge", "Of it in the kernel's page cache"),
        Metric("page_bytes", "B", "gauge", "Size of a page"),
        Metric("pages", "pages", "gauge", "Pages of the database at its last checkpoint"),
        Metric("free_pages", "pages", "gauge", "Of them unused"),
        Metric("changes", "", "counter", "Transactions that changed the database"),
        Metric("log_bytes", "B", "gauge", "Size of the write-ahead log's file"),
        Metric("log_frames", "frames", "gauge", "Pages in the write-ahead log since it began anew"),
        Metric("log_frames_copied", "frames", "gauge", "Of them copied back by checkpoints"),
    ),
    _open,
)
