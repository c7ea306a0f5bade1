"""A journal: lines that are appended while something runs, each with its checksum.

A line is eight hexadecimal digits (CRC-32 of the rest), a space and a JSON object. The writer may
be killed at any moment: a reader leaves out lines whose checksum is wrong, such as torn ones. A
line reaches the kernel at once but is not forced to the disk, which would disturb what is measured:
it survives the end of the process, not that of the machine.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from dbdyno.store.disk import writing

Entry = Mapping[str, object]

_MOST_BYTES = 64_000_000
"""Most bytes of a read; only a run that samples thousands of processes has a longer journal."""


def dump_entry(entry: Entry) -> bytes:
    """An entry as a line of the journal, with its line feed."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def parse_entry(line: bytes) -> Entry | None:
    """The entry of a line, given without its line feed; `None` if the line is damaged."""
    sum_, _, text = line.partition(b" ")
    with suppress(ValueError, RecursionError):
        if int(sum_, 16) == zlib.crc32(text):
            entry = json.loads(text)
            return entry if isinstance(entry, dict) else None
    return None


class Journal:
    """Appends entries; several threads may, and several processes to the same file.

    A line that can't be written is lost without an error: on a full disk the run fails when its
    results are written, not here.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path, size=4096):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(path, flags, 0o644)
        self._lock = Lock()
        self._closed = self._torn = False

    def add(self, entry: Entry) -> None:
        """Appends an entry; does nothing after `close`."""
        line = dump_entry(entry)
        with self._lock:
            if self._closed:
                return
            line = b"\n" + line if self._torn else line
            try:
                self._torn = os.write(self._file, line) < len(line)
            except OSError:
                self._torn = True

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._file)


def map_entries(content: bytes) -> Iterator[Entry]:
    """The entries of whole lines; damaged lines are left out."""
    for line in content.splitlines():
        entry = parse_entry(line)
        if entry is not None:
            yield entry


def read_journal(path: Path) -> Iterator[Entry]:
    """All entries of a journal; none where no file can be read. A link isn't followed."""
    # A pipe in its place would never end.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        file, offset = os.open(path, flags), 0
        try:
            while whole := _whole_lines(os.pread(file, _MOST_BYTES, offset)):
                offset += len(whole)
                yield from map_entries(whole)
        finally:
            os.close(file)


def require_number(value: object) -> float:
    """The number in an entry or record. Raises `TypeError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]
