"""A temporary folder of the lab's own, without a guard: removed at the end of its block or, if the
lab was killed, by the next clean-up, which recognises it by its lock."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.guard.locked_folder import lock_folder, remove_locked_folder
from dbdyno.guard.sweep import FOLDER_PREFIX


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Called after its purpose; for small files that nobody needs afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{purpose}-"))
    lock = lock_folder(folder)
    try:
        yield folder
    finally:
        remove_locked_folder(folder)
        os.close(lock)
