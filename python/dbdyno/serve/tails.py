"""Reads files of a store as they grow: journals, and the engine's records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import zstandard

from dbdyno.serve.inside import Inside
from dbdyno.store.journal import Entry, map_entries

_PIECE_BYTES = 4_000_000
"""Most bytes of a read, so that a long journal doesn't delay other requests."""


class GrowingFile:
    """A file that is appended to; another file of the same name is read from its beginning."""

    def __init__(self, inside: Inside, parts: Sequence[str]) -> None:
        self._inside = inside
        self._parts = tuple(parts)
        self._identity: tuple[int, int] | None = None
        self._offset = 0

    def at(self, *parts: str) -> None:
        """Reads from another path from now on; goes on where it was if that is the same file."""
        self._parts = parts

    def fresh(self, state: os.stat_result | None = None) -> tuple[bytes, bool]:
        """New bytes, and whether the file was read from its beginning. `state` saves a look-up if
        the caller has the file's."""
        with suppress(OSError):
            state = state or self._inside.state(*self._parts)
            identity = state.st_dev, state.st_ino
            anew = identity != self._identity or state.st_size < self._offset
            self._identity = identity
            self._offset = 0 if anew else self._offset
            if state.st_size == self._offset:
                return b"", anew
            start = self._offset
            content = self._inside.read(*self._parts, start=start, most=_PIECE_BYTES)
            self._offset = start + len(content)
            return content, anew
        return b"", False


class JournalTail:
    """Reads new entries of a journal; for `at` see `GrowingFile`."""

    def __init__(self, inside: Inside, *parts: str) -> None:
        self._file = GrowingFile(inside, parts)
        self._rest = b""
        self.at = self._file.at

    def fresh(self, state: os.stat_result | None = None) -> tuple[list[Entry], bool]:
        """Entries since the last call, and whether the journal was read from its beginning."""
        content, anew = self._file.fresh(state)
        if not content:
            return [], anew
        content = content if anew else self._rest + content
        whole, _, self._rest = content.rpartition(b"\n")
        return list(map_entries(whole)), anew


class RecordTail:
    """Reads new records of the engine, as JSON objects; none after damage in the stream."""

    def __init__(self, inside: Inside, *parts: str) -> None:
        self._file = GrowingFile(inside, parts)
        self._rest = b""
        self._begin()

    def fresh(self, state: os.stat_result | None = None) -> Iterator[Mapping[str, object]]:
        """Records since the last call."""
        content, anew = self._file.fresh(state)
        if anew:
            self._begin()
        if not content:
            return
        with suppress(zstandard.ZstdError):
            self._rest += self._unpacker.decompress(content)
        whole, _, self._rest = self._rest.rpartition(b"\n")
        for line in whole.splitlines():
            with suppress(ValueError, RecursionError):
                record = json.loads(line)
                if isinstance(record, dict):
                    yield record

    def _begin(self) -> None:
        self._unpacker = zstandard.ZstdDecompressor().decompressobj()
        self._rest = b""
