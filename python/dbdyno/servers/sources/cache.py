"""The cache of downloaded servers: each is fetched once, atomically, by one process at a time."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dbdyno.cache import CACHE_VARIABLE, cache_folder
from dbdyno.errors import ServerError

_MANIFEST = "manifest.json"
_CONTENT = "content"
PARTIAL = ".partial-"
"""Between the name of a folder and a number, while it is fetched aside."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the content of a cached folder came from."""

    package: str
    """The name its client uses: `pgserver==0.1.4`, `group:artifact:version`."""
    file: str
    sha256: str
    verified_by: str
    """The checksum, shipped with the package, that was verified."""
    download_bytes: int = 0
    """Bytes downloaded; 0 if not counted."""


@dataclass(frozen=True, slots=True)
class Cached:
    """An unpacked package."""

    folder: Path
    archive: Archive


def find(key: str) -> Cached | None:
    """What is cached under a key; nothing is downloaded."""
    folder = cache_folder() / key
    try:
        manifest: Mapping[str, Any] = json.loads((folder / _MANIFEST).read_text())
        known = {field.name for field in fields(Archive)}  # A later version may have kept more.
        archive = Archive(**{name: manifest[name] for name in manifest if name in known})
        return Cached(folder / _CONTENT, archive)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError) as error:
        raise ServerError(
            f"the cached package {folder} has no readable {_MANIFEST}: {error}",
            hint=f"remove {folder} and run again",
        ) from error


def find_or_fetch(key: str, fetch: Callable[[Path, Path], Archive]) -> Cached:
    """Returns what is cached under `key`, fetching it first if necessary.

    `fetch(content, scratch)` fills the folder `content` and may use the folder `scratch`.
    Meanwhile, another process asking for the same key waits. Incomplete content is never visible.

    # Errors
    `ServerError` from `fetch`, or if the folder can't be written.
    """
    if cached := find(key):
        return cached
    folder = cache_folder() / key
    try:
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with _locked(folder.with_name(f"{folder.name}.lock")):
            if cached := find(key):
                return cached
            _fetch_aside(folder, fetch)
    except OSError as error:
        raise ServerError(
            f"could not keep a downloaded server in {cache_folder()}: {error}",
            hint=f"make room, or name another folder in {CACHE_VARIABLE}",
        ) from error
    cached = find(key)
    assert cached is not None, "the folder was renamed into place just now"
    return cached


def _fetch_aside(folder: Path, fetch: Callable[[Path, Path], Archive]) -> None:
    prefix = f"{folder.name}{PARTIAL}"
    for abandoned in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(abandoned)
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        content, scratch = partial / _CONTENT, partial / "scratch"
        content.mkdir()
        scratch.mkdir()
        archive = fetch(content, scratch)
        shutil.rmtree(scratch)
        (partial / _MANIFEST).write_text(json.dumps(asdict(archive), indent=2) + "\n")
        _make_readable(partial)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make_readable(folder: Path) -> None:
    """Makes files readable for other users, whatever the umask."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds an exclusive lock; the kernel frees it however we end."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Hexadecimal digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
