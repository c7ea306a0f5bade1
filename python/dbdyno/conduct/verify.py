"""Verifies tables after loading: counts and checksums the rows on the server.

Every row is read, so the caches start a run with whatever fits of the tables read last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from dbdyno.errors import ServerError
from dbdyno.model import EngineWarning, Loaded, Progress, TableFill, Verify
from dbdyno.servers import Contents


class Look(Protocol):
    """Reads a table's contents from a database; raises `ServerError`."""

    def __call__(self, table: str, *, checksum: bool) -> Contents: ...


def _unobserved(_progress: Progress) -> None:
    return None


def verify_tables(
    command: str,
    loaded: Iterable[Loaded],
    verify: Verify,
    look: Look,
    *,
    observe: Callable[[Progress], None] = _unobserved,
) -> Iterator[TableFill]:
    """The check of each table that `command` has loaded; one that can't be read says why."""
    tables = tuple(loaded) if verify != "none" else ()
    total, done = sum(table.rows for table in tables), 0
    origin = time.monotonic_ns()
    for table in tables:
        yield _look_at(command, table.table, table.rows, verify, look)
        done += table.rows
        observe(Progress("rows", done, total, time.monotonic_ns() - origin))


def verify_others(
    command: str, tables: Mapping[str, str], loaded: Iterable[Loaded], verify: Verify, look: Look
) -> Iterator[TableFill]:
    """Existing tables that bulk inserts did not fill."""
    known = {_plain(table.table) for table in loaded}
    for table, in_statements in tables.items():
        if known.isdisjoint((_plain(table), _plain(in_statements))):
            found = _look_at(command, in_statements, None, verify, look)
            yield replace(found, table=table)


def _plain(table: str) -> str:
    """A table's name without quotes: scripts write the same name in several ways."""
    return ".".join(part.strip(' "`') for part in table.split(".")).lower()


def _look_at(command: str, table: str, sent: int | None, verify: Verify, look: Look) -> TableFill:
    begin = time.monotonic()
    try:
        found = look(table, checksum=verify == "checksums")
    except ServerError as error:
        took_s = time.monotonic() - begin
        return TableFill(command, table, sent, took_s=took_s, problem=error.message)
    took_s = time.monotonic() - begin
    return TableFill(command, table, sent, found.rows, found.checksum, took_s)


def fill_warnings(fills: Iterable[TableFill]) -> Iterator[EngineWarning]:
    """Warnings about tables that differ from what was sent."""
    for fill in fills:
        if fill.problem is not None:
            yield EngineWarning(
                "not-verified",
                f"`{fill.table}` could not be read after loading: {fill.problem}",
                "without `verify` tables are not read",
            )
        elif fill.sent is not None and fill.rows != fill.sent:
            yield EngineWarning(
                "rows",
                f"`{fill.table}` has {fill.rows:,} rows; bulk inserts sent {fill.sent:,}",
                "the script itself, a trigger, another client or earlier rows made the "
                "difference; without `verify` tables are not read",
            )
