"""The available FerretDB servers: built from Go modules, or named by a folder."""

import re
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.ferretdb.program import PROGRAM
from dbdyno.servers.databases.mongodb.kind import refuses
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Installation, Package, Server, ServerSpec, Source
from dbdyno.servers.sources.packaged import printed_by

_MODULE = "github.com/FerretDB/FerretDB"
_VERSION = "1.24.0"


def _installed_at(folder: Path) -> Installation:
    for candidate in (folder, folder / "bin"):
        printed = printed_by(candidate / PROGRAM, "--version") or ""
        if numbers := re.search(r"FerretDB (\d+(\.\d+)+)", printed):
            return Installation(numbers[1], Source.PATH, candidate)
    raise ServerError(
        f"{folder} holds no `{PROGRAM}` that answers to --version",
        hint="name the folder of the program as dbdyno builds it (`dbdyno fetch ferretdb`)",
    )


def _open(spec: ServerSpec, folder: Path) -> Server:
    from dbdyno.servers.databases.ferretdb.server import FerretdbServer

    return FerretdbServer(spec, folder)


KIND = Kind(
    name="ferretdb",
    open=_open,
    driver="mongodb",
    packages=(Package(_VERSION, Source.GO, f"{PROGRAM}={_MODULE}@v{_VERSION}", "bin"),),
    installed_at=_installed_at,
    refuses=refuses,
    rows_per_s=1_000,
)
