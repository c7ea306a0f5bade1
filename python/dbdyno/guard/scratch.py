"""A temporary folder of the lab's own, without a guard: removed at the end of its block or, if the
lab was killed, by the next clean-up, which recognises it by its lock."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.guard.guard import LOCK_NAME
from dbdyno.guard.sweep import FOLDER_PREFIX


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Called after its purpose; for small files that nobody needs afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER_PREFIX}{purpose}-") as name:
        folder = Path(name)
        unlocked = folder / f"{LOCK_NAME}.new"
        with unlocked.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            unlocked.rename(folder / LOCK_NAME)
            yield folder
