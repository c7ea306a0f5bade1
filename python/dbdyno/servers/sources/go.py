"""Servers made of Go modules, built here.

What a program is built from is in the folder of its kind (`databases/*/programs/PROGRAM`): a
`go.mod` and its `go.sum`, so that each module is the one whose checksum is known here, and the
source of a program of ours if the module's own does not do.
"""

import os
import re
import shutil
from functools import partial
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.sources.cache import Archive, sha256_of
from dbdyno.servers.sources.client import Progress, Stage, run_client

_DATABASES = Path(__file__).parents[1] / "databases"
_BUILD_LIMIT_S = 3 * 3600
"""The longest build, TiDB's, takes nine minutes on two idle cores."""
_TO_BUILD = "{{if .Stale}}{{.ImportPath}}{{end}}"
"""Of a list: packages that Go's own cache lacks."""
_HEADERS = {"unicode/": "libicu-dev"}
"""How the names of C headers begin that modules include → Debian's package of them."""


def fetch(package: str, content: Path, scratch: Path, progress: Progress | None = None) -> Archive:
    """Builds `PROGRAM=module@version` into `content/bin`, in some minutes: our own program if its
    folder has one, else the module's package of that path.

    # Errors
    `ServerError` without Go, without a module, when a module is not the one it was, or when a
    header or compiler of C is missing.
    """
    go = require_go(package)
    name, _, module = package.partition("=")
    folder = scratch / name
    (source,) = _DATABASES.glob(f"*/programs/{name}")
    shutil.copytree(source, folder)
    binary = content / "bin" / name
    built = "." if any(folder.glob("*.go")) else module.partition("@")[0]
    run = partial(
        run_client,
        package=module,
        error_mark=r"^go: (?!downloading )|^cgo: |fatal error: ",
        folder=folder,
        env={**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        progress=progress,
    )
    try:
        # Downloads all modules, too.
        total = _count(run([go, "list", "-mod=readonly", "-deps", "-f", _TO_BUILD, built]))
        run(
            [go, "build", "-mod=readonly", "-v", "-o", str(binary), built],
            stage=lambda printed: Stage(module, _count(printed) - total, total, is_build=True),
            limit_s=_BUILD_LIMIT_S,
        )
    except ServerError as error:
        raise explained(error) from error
    return Archive(module, name, sha256_of(binary), "go.sum, every module by sha256")


def _count(printed: Path) -> int:
    """Packages among what `go` has printed, one a line."""
    lines = printed.read_text(errors="replace").splitlines() if printed.exists() else []
    return len([line for line in lines if line.strip() and not line.startswith(("go: ", "#"))])


def explained(error: ServerError) -> ServerError:
    """The same, with the package that has a missing header."""
    header = re.search(r"(\S+\.h): No such file", error.message)
    for start, package in _HEADERS.items():
        if header and header[1].startswith(start):
            return error.reworded(error.message, hint=f"`apt-get install {package}`")
    return error


def require_go(package: str) -> str:
    """The path of `go`; raises `ServerError` where it is not installed."""
    if program := shutil.which("go"):
        return program
    _, _, module = package.partition("=")
    raise ServerError(
        f"Go (`go`) is needed to build {module} and is not installed",
        hint="install Go 1.26 or newer, or name a server by `@path:` or `url:`",
    )
