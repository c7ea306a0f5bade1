"""SQLite comes with the engine: there is one, and nothing to download."""

import sqlite3

from dbdyno.servers.protocol import Kind
from dbdyno.servers.sqlite.server import SqliteServer

KIND = Kind(
    name="sqlite",
    open=SqliteServer,
    driver="sqlite",
    embedded_version=sqlite3.sqlite_version,
)
