"""Reads files of a store and nothing outside it: it follows no links and reads no pipes or devices.

Somebody else may have made the store, or change it meanwhile. Each folder of a path is opened
relative to the folder above it, so that no name and no link leads out of the store.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = _FILE | os.O_DIRECTORY
MOST_BYTES = 256_000_000
"""Largest file that is read; dbdyno writes none that large."""


def is_name(name: str) -> bool:
    """Whether it can be the name of a file or folder in a folder."""
    return name not in (".", "..") and _NAME.fullmatch(name) is not None


class Inside:
    """The files of a store. All methods raise `OSError` for what can't be read."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, *parts: str, start: int = 0, most: int = MOST_BYTES) -> bytes:
        """The content of a file from `start` on, at most so many bytes."""
        with self._opened(parts, _FILE) as file:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
                raise FileNotFoundError(parts[-1])
            pieces, left = [], most
            while left > 0 and (piece := os.pread(file, min(left, 1 << 20), start)):
                pieces.append(piece)
                start, left = start + len(piece), left - len(piece)
            return b"".join(pieces)

    def state(self, *parts: str) -> os.stat_result:
        """Size, time and identity of a file or folder."""
        with self._opened(parts, _FILE) as file:
            return os.fstat(file)

    def states(self, *parts: str) -> dict[str, os.stat_result]:
        """Name → size, time and identity of everything in a folder except links."""
        with self._opened(parts, _FOLDER) as folder, os.scandir(folder) as entries:
            return {
                entry.name: entry.stat(follow_symlinks=False)
                for entry in entries
                if not entry.is_symlink()
            }

    def entries(self, *parts: str) -> list[tuple[str, bool]]:
        """Names in a folder and whether each is a folder itself; links are left out."""
        with self._opened(parts, _FOLDER) as folder, os.scandir(folder) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.is_symlink()
            ]

    def folders(self, *parts: str) -> list[str]:
        """Names of the folders in a folder; none where it can't be read."""
        with suppress(OSError):
            return [name for name, is_folder in self.entries(*parts) if is_folder]
        return []

    def has(self, *parts: str) -> bool:
        """Whether it exists and can be opened."""
        with suppress(OSError):
            self.state(*parts)
            return True
        return False

    @contextmanager
    def _opened(self, parts: Sequence[str], flags: int) -> Iterator[int]:
        if not all(map(is_name, parts)):
            raise FileNotFoundError("/".join(parts))
        place = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for number, part in enumerate(parts, 1):
                last = number == len(parts)
                deeper = os.open(part, flags if last else _FOLDER, dir_fd=place)
                os.close(place)
                place = deeper
            yield place
        finally:
            os.close(place)
