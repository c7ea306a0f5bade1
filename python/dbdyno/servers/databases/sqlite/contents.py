"""Rows and checksum of a table in SQLite, which has no digest: its rows are read."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents, contents_of


def contents(path: Path, table: str, *, checksum: bool) -> Contents:
    """Of a table, named as in a statement, of a database that nobody is writing to.

    # Errors
    `ServerError` when there is no such table, or it can't be read.
    """
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
            if not checksum:
                (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
                return Contents(count)
            described = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
            texts = ", ".join(_text(column[0]) for column in described)
            connection.text_factory = bytes
            return contents_of(connection.execute(f"SELECT {texts} FROM {table}"))
    except sqlite3.Error as error:
        raise ServerError(f"sqlite can't read `{table}` of {path.name}: {error}") from error


def quoted(name: str) -> str:
    """A name as statements have it."""
    return '"' + name.replace('"', '""') + '"'


def _text(column: str) -> str:
    name = quoted(column)
    return f"CASE typeof({name}) WHEN 'blob' THEN lower(hex({name})) ELSE CAST({name} AS TEXT) END"
