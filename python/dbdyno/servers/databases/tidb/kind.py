"""The TiDB servers there are: built from Go modules."""

from pathlib import Path

from dbdyno.servers.databases.tidb.program import PROGRAM, VERSION
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Connection, Package, Provision, Server, ServerSpec, Source

_MODULE = "github.com/pingcap/tidb/cmd/tidb-server@v1.1.0-beta.0.20251126154744-e4e814fdc0af"


def _refuses(_provision: Provision, _wish: Connection) -> str | None:
    """Nothing: it compresses and encrypts."""
    return None


def _open(spec: ServerSpec, folder: Path) -> Server:
    # MySQL's driver takes a tenth of a second to import: only who opens a server pays for it.
    from dbdyno.servers.databases.tidb.server import TidbServer

    return TidbServer(spec, folder)


KIND = Kind(
    name="tidb",
    open=_open,
    driver="mysql",
    packages=(Package(VERSION, Source.GO, f"{PROGRAM}={_MODULE}", "bin"),),
    refuses=_refuses,
    empty_bytes=270_000_000,
    rows_per_s=5_000,
)
