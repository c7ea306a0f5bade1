"""SQLite comes with the engine: there is one, and nothing to download."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from dbdyno.servers.protocol import Kind, Provision, Server, Source
from dbdyno.servers.sqlite.running import SqliteFile
from dbdyno.servers.sqlite.server import SqliteServer


def _open(provision: Provision, settings: Mapping[str, str], folder: Path) -> Server:
    made = SqliteFile if provision.source is Source.URL else SqliteServer
    return made(provision, settings, folder)


KIND = Kind(
    name="sqlite",
    open=_open,
    driver="sqlite",
    embedded_version=sqlite3.sqlite_version,
    url_schemes=("sqlite",),
)
