"""SQLite comes with the engine: there is one, and nothing to download."""

import sqlite3
from pathlib import Path

from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Server, ServerSpec, Source


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Only who opens a server pays for the guard's import.
    from dbdyno.servers.databases.sqlite.running import SqliteFile
    from dbdyno.servers.databases.sqlite.server import SqliteServer

    made = SqliteFile if spec.provision.source is Source.URL else SqliteServer
    return made(spec, folder)


KIND = Kind(
    name="sqlite",
    open=_open,
    driver="sqlite",
    embedded_version=sqlite3.sqlite_version,
    url_schemes=("sqlite",),
)
