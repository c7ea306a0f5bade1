"""After tables were loaded: does the server have the rows that were sent, and which ones?

Every row is read, so the caches a run begins with hold what fits of the tables read last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from dbdyno.errors import ServerError
from dbdyno.model import EngineWarning, Loaded, Progress, TableLoad, Verify
from dbdyno.servers import Contents


class Look(Protocol):
    """How a database is asked for a table's contents; raises `ServerError`."""

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
) -> Iterator[TableLoad]:
    """Each table that `command` has loaded; one that can't be looked at says why."""
    tables = tuple(loaded) if verify != "none" else ()
    total, done = sum(table.rows for table in tables), 0
    origin = time.monotonic_ns()
    for table in tables:
        begin = time.monotonic()
        try:
            found = look(table.table, checksum=verify == "checksums")
        except ServerError as error:
            took_s = time.monotonic() - begin
            yield TableLoad(command, table.table, table.rows, took_s=took_s, problem=error.message)
        else:
            took_s = time.monotonic() - begin
            sent = table.rows
            yield TableLoad(command, table.table, sent, found.rows, found.checksum, took_s)
        done += table.rows
        observe(Progress("rows", done, total, time.monotonic_ns() - origin))


def load_warnings(loads: Iterable[TableLoad]) -> Iterator[EngineWarning]:
    """What the reader should know of tables that are not what was sent."""
    for load in loads:
        if load.problem is not None:
            yield EngineWarning(
                "not-verified",
                f"`{load.table}` could not be looked at after it was loaded: {load.problem}",
                "without `verify` nothing is looked at",
            )
        elif load.rows != load.sent:
            yield EngineWarning(
                "rows",
                f"`{load.table}` has {load.rows:,} rows; bulk inserts sent {load.sent:,}",
                "the script itself, a trigger, somebody else or what was there before made the "
                "difference; without `verify` nothing is looked at",
            )
