"""The available FerretDB servers: built from Go modules, or named by a folder."""

import re
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.ferretdb.program import PROGRAM, PROGRAM_2
from dbdyno.servers.databases.mongodb.kind import refuses
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import (
    Installation,
    Package,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.sources.packaged import printed_by

_MODULE = "github.com/FerretDB/FerretDB"
_VERSION = "1.24.0"
_MODULE_2 = "github.com/FerretDB/FerretDB/v2"
_VERSION_2 = "2.7.0"


def _installed_at(folder: Path) -> Installation:
    places = [place / name for place in (folder, folder / "bin") for name in (PROGRAM_2, PROGRAM)]
    for candidate in places:
        printed = printed_by(candidate, "--version") or ""
        if numbers := re.search(r"FerretDB (\d+(\.\d+)+)", printed):
            return Installation(numbers[1], Source.PATH, candidate.parent)
    raise ServerError(
        f"{folder} holds no `{PROGRAM}` or `{PROGRAM_2}` that answers to --version",
        hint="name the folder of the program as dbdyno builds it (`dbdyno fetch ferretdb`)",
    )


def _open(spec: ServerSpec, folder: Path) -> Server:
    if _is_2(spec.provision.version):
        from dbdyno.servers.databases.ferretdb.on_postgresql import FerretdbOnPostgresql

        return FerretdbOnPostgresql(spec, folder)
    from dbdyno.servers.databases.ferretdb.server import FerretdbServer

    return FerretdbServer(spec, folder)


def _is_2(version: str | None) -> bool:
    return (version or "").startswith("2.")


def _besides(programs: Package) -> Sequence[Package]:
    """The PostgreSQL that FerretDB 2 stands on."""
    from dbdyno.servers.databases.ferretdb.store import package

    return (package(),) if _is_2(programs.version) else ()


KIND = Kind(
    name="ferretdb",
    open=_open,
    driver="mongodb",
    packages=(
        Package(_VERSION_2, Source.GO, f"{PROGRAM_2}={_MODULE_2}@v{_VERSION_2}", "bin"),
        Package(_VERSION, Source.GO, f"{PROGRAM}={_MODULE}@v{_VERSION}", "bin"),
    ),
    installed_at=_installed_at,
    refuses=refuses,
    besides=_besides,
    empty_bytes=76_000_000,
    rows_per_s=1_000,
)
