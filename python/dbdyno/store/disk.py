"""Writes to disks that may be full, read-only or not ours."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.errors import StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing(path: Path, *, size: int) -> Iterator[None]:
    """Maps errors of writing `size` bytes to `path` to `StoreError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreError(
                f"no space left for {path}: {_free(path)} bytes are free, {size} more are needed",
                hint="make room or choose another folder with --store, then `dbdyno resume`",
            ) from error
        raise StoreError(
            f"can't write {path}: {error.strerror or error}",
            hint="choose another folder with --store",
        ) from error


def write_file(path: Path, content: bytes) -> None:
    """Writes a whole file and waits until the disk has it."""
    with writing(path, size=len(content)), path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file aside and renames it into place, so that readers never see a partial one."""
    aside = path.with_name(path.name + ".partial")
    write_file(aside, content)
    with writing(path, size=0):
        aside.replace(path)


def make_folder(path: Path) -> None:
    """Creates a folder and those above it."""
    with writing(path, size=4096):
        path.mkdir(parents=True, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Waits until the disk has the folder's own entries: names, not contents."""
    with writing(path, size=0):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256(content: bytes) -> str:
    """Hexadecimal digest, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def _free(path: Path) -> str:
    for folder in path.parents:
        try:
            return str(shutil.disk_usage(folder).free)
        except OSError:
            continue
    return "an unknown number of"
