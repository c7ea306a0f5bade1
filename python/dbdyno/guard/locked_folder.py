"""Temporary folders with a lock, by which the next clean-up knows those whose makers are dead.

Standard library only, like the guard.
"""

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path

LOCK_NAME = "guard.lock"
"""A file in each temporary folder, locked while its guard lives."""

_ENDING_LIMIT_S = 2.0
"""How long processes that are just ending may still write into a folder, seconds."""
_POLL_S = 0.01


def lock_folder(folder: Path) -> int:
    """Puts a lock into a new folder; it is held while the returned descriptor is open."""
    unlocked = folder / f"{LOCK_NAME}.new"
    lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unlocked.rename(folder / LOCK_NAME)
    return lock


def remove_locked_folder(folder: Path) -> None:
    """Removes a folder, the lock last: what can't be removed, or is left by a kill in between,
    still has its lock, and so the next clean-up finds it."""
    deadline = time.monotonic() + _ENDING_LIMIT_S
    while not _is_removed(folder) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _is_removed(folder: Path) -> bool:
    lock = folder / LOCK_NAME
    with contextlib.suppress(OSError):
        for path in _contents(folder):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()
        if not _contents(folder):
            lock.unlink(missing_ok=True)
            try:
                folder.rmdir()
            except OSError:  # A dying process was quicker: what it wrote needs the lock.
                lock.touch()
    return not folder.exists()


def _contents(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != LOCK_NAME]
