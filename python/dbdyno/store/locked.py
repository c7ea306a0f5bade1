"""The lock of a store: one process writes to it at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.store.disk import writing


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """An advisory lock that the system drops when its holder dies, however it dies."""
    path = folder / ".lock"
    with writing(path, size=16):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            raise StoreError(
                f"{folder} is being written by another dbdyno (process {holder})",
                hint="wait for it, or give this one a folder of its own with --store",
            ) from None
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # Who holds it is a hint; a full disk has no room for it.
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
