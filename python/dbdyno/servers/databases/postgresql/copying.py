"""Makes a folder a copy of a running primary's data folder. A program of its own, with the standard
library alone: within the lab it would share one processor with all clients of its probes.

Arguments: source, target. Files of the target that are alike stay as they are, so that the server
need not sync them when it starts.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

ITS_OWN = ("postmaster.pid", "postmaster.opts")
"""Files of a running server that a copy must not have."""
LEFT_OUT = ("pg_wal", "pg_replslot", "pg_stat_tmp")
"""Folders that a copy has empty: the log is streamed, the rest is the primary's alone."""


def copy(source: Path, target: Path) -> None:
    """Owners and modes are those of the source."""
    target.mkdir(exist_ok=True)
    there = {entry.name: entry for entry in os.scandir(source) if entry.name not in ITS_OWN}
    for other in os.scandir(target):
        if other.name not in there or other.name in LEFT_OUT:
            _remove(Path(other.path))
    for name, entry in there.items():
        own = target / name
        with suppress(FileNotFoundError):  # Removed since: the log repeats what became of it.
            if entry.is_dir():
                copy_folder = _make_empty if name in LEFT_OUT else copy
                copy_folder(Path(entry.path), own)
            elif not (own.exists() and filecmp.cmp(entry.path, own, shallow=False)):
                shutil.copy2(entry.path, own)
                _give(Path(entry.path), own)
    _give(source, target)


def _make_empty(source: Path, target: Path) -> None:
    target.mkdir()
    _give(source, target)


def _give(source: Path, target: Path) -> None:
    status = source.stat()
    os.chown(target, status.st_uid, status.st_gid)
    target.chmod(status.st_mode & 0o7777)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


if __name__ == "__main__":
    copy(Path(sys.argv[1]), Path(sys.argv[2]))
