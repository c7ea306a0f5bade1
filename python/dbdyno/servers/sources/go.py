"""Servers made of Go modules: a small program of ours is built with the module it needs.

Beside a program (`programs/NAME`) are its `go.mod` and `go.sum`, so that each module is the one
whose checksum is known here.
"""

import os
import shutil
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.sources.cache import Archive, sha256_of
from dbdyno.servers.sources.client import Progress, run_client

_PROGRAMS = Path(__file__).parent / "programs"


def fetch(package: str, content: Path, scratch: Path, progress: Progress | None = None) -> Archive:
    """Builds `PROGRAM=module@version` into `content/bin`, in some minutes.

    # Errors
    `ServerError` without Go, without a module, or when a module is not the one it was.
    """
    go = require_go(package)
    name, _, module = package.partition("=")
    folder = scratch / name
    shutil.copytree(_PROGRAMS / name, folder)
    binary = content / "bin" / name
    run_client(
        [go, "build", "-mod=readonly", "-o", str(binary), "."],
        package=module,
        error_mark="go: ",
        folder=folder,
        env={**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        progress=progress,
    )
    return Archive(module, name, sha256_of(binary), "go.sum, every module by sha256")


def require_go(package: str) -> str:
    """The path of `go`; raises `ServerError` where it is not installed."""
    if program := shutil.which("go"):
        return program
    _, _, module = package.partition("=")
    raise ServerError(
        f"Go (`go`) is needed to build {module} and is not installed",
        hint="install Go 1.21 or newer, or name a server by `@path:` or `url:`",
    )
