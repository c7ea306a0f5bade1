"""The Dolt servers there are: built from Go modules."""

from pathlib import Path

from dbdyno.servers.databases.dolt.program import PROGRAM, VERSION
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Connection, Package, Provision, Server, ServerSpec, Source

_MODULE = "github.com/dolthub/dolt/go/cmd/dolt@v0.40.5-0.20250916084833-f121f4db6fdd"


def _refuses(_: Provision, wish: Connection) -> str | None:
    """What its protocol lacks."""
    return "Dolt does not compress its connections" if wish.get("compression") else None


def _open(spec: ServerSpec, folder: Path) -> Server:
    # MySQL's driver takes a tenth of a second to import: only who opens a server pays for it.
    from dbdyno.servers.databases.dolt.server import DoltServer

    return DoltServer(spec, folder)


KIND = Kind(
    name="dolt",
    open=_open,
    driver="mysql",
    packages=(Package(VERSION, Source.GO, f"{PROGRAM}={_MODULE}", "bin"),),
    refuses=_refuses,
    empty_bytes=1_000_000,
    rows_per_s=10_000,
)
