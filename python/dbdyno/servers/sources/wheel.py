"""Servers carried by Python wheels: downloaded by pip, unpacked, never imported or installed."""

import base64
import csv
import hashlib
import importlib.util
import platform
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.sources.cache import Archive, sha256_of
from dbdyno.servers.sources.client import Progress, run_client

_PYTHON = "3.11"
"""The wheels are tied to a Python only by a module we never load; any running Python will do."""


def fetch(package: str, content: Path, scratch: Path, progress: Progress | None = None) -> Archive:
    """Downloads `name==version` and unpacks it into `content`.

    # Errors
    `ServerError` without pip, without the wheel, or when a file differs from its checksum.
    """
    machine = platform.machine()
    digits = _PYTHON.replace(".", "")
    platforms = [
        word
        for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
        for word in ("--platform", f"{tag}_{machine}")
    ]
    argv = [
        *require_pip(package),
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--implementation",
        "cp",
        "--abi",
        f"cp{digits}",
        "--python-version",
        _PYTHON,
        *platforms,
        "--dest",
        str(scratch),
        package,
    ]
    run_client(argv, package=package, error_mark="ERROR:", folder=scratch, progress=progress)
    wheel = next(scratch.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(content)
            for entry in archive.infolist():
                mode = entry.external_attr >> 16 & 0o777
                if mode and not entry.is_dir():
                    (content / entry.filename).chmod(mode)
    except zipfile.BadZipFile as error:
        raise ServerError(f"the wheel of {package} is damaged: {error}") from error
    count = verify(package, content)
    checked = f"RECORD, {count} files by sha256"
    return Archive(package, wheel.name, sha256_of(wheel), checked, wheel.stat().st_size)


def require_pip(package: str) -> Sequence[str]:
    """The words that call pip; raises `ServerError` where it is not installed."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip", "pip3"):
        if found := shutil.which(name):
            return [found]
    raise ServerError(
        f"pip is needed to download {package} and is not installed",
        hint=f"`{sys.executable} -m ensurepip`, or `apt-get install python3-pip`",
    )


def verify(package: str, content: Path) -> int:
    """Compares every unpacked file with the wheel's own list; returns how many."""
    count = 0
    for record in content.glob("*.dist-info/RECORD"):
        with record.open(newline="") as lines:
            for name, checksum, _ in csv.reader(lines):
                if not checksum:
                    continue
                algorithm, _, expected = checksum.partition("=")
                with (content / name).open("rb") as file:
                    digest = hashlib.file_digest(file, algorithm).digest()
                found = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if found != expected:
                    raise ServerError(
                        f"{name} of {package} has {algorithm} {found}; its RECORD says {expected}",
                        hint="the download is damaged: run again",
                    )
                count += 1
    if count == 0:
        raise ServerError(f"the wheel of {package} ships no checksums; it is not used")
    return count
