"""What the lab asks of ClickHouse servers."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.errors import ServerError
from dbdyno.model.session import only_row
from dbdyno.servers.contents import Contents, contents_of
from dbdyno.servers.databases.clickhouse.session import ClickhouseSession
from dbdyno.servers.protocol import Capacity

_NULL = b"\\N"


def facts(session: ClickhouseSession) -> Mapping[str, object]:
    """Version, time zone and durability: inserts are not synced by default (D0: a power failure
    may take what the system has not written)."""
    asked = "SELECT version() AS version, timezone() AS timezone"
    row = only_row(session.rows(asked), asked)
    return {**row, "durability": durability(settings(session))}


def durability(effective: Mapping[str, str]) -> str:
    """The class printed beside every number: D2 where each insert is synced, which releases since
    21 can do by `merge_tree.fsync_after_insert`."""
    return "D2" if effective.get("merge_tree.fsync_after_insert") == "1" else "D0"


def settings(session: ClickhouseSession) -> Mapping[str, str]:
    """Settings of queries, and of MergeTree tables with `merge_tree.` before their names."""
    read = {
        str(row["name"]): str(row["value"])
        for row in session.rows("SELECT name, value FROM system.settings")
    }
    tables = session.rows("SELECT name, value FROM system.merge_tree_settings")
    return {**read, **{f"merge_tree.{row['name']}": str(row["value"]) for row in tables}}


def counters(session: ClickhouseSession) -> Mapping[str, int]:
    """Events, which only grow, by their names: `Query`, `SelectedRows`."""
    rows = session.rows("SELECT event, value FROM system.events")
    return {str(row["event"]): int(row["value"]) for row in rows}


def size_bytes(session: ClickhouseSession) -> int:
    """Of the parts of all tables on disk."""
    asked = "SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active"
    return int(only_row(session.rows(asked), asked)["bytes"])


def capacity(session: ClickhouseSession, limit: int | None) -> Capacity:
    """Connections left of the server's limit; unknown where it is not ours."""
    if limit is None:
        return Capacity()
    rows = session.rows("SELECT metric, value FROM system.metrics WHERE metric LIKE '%Connection'")
    used = sum(int(row["value"]) for row in rows)
    return Capacity(
        connections=limit - used,
        basis=f"max_connections {limit}, {used} in use",
        cure='raise the server\'s limit (a setting of the study: `"server.max_connections" = '
        '"20000"`)',
    )


def tables(session: ClickhouseSession, database: str) -> Mapping[str, str]:
    """Tables of a database."""
    rows = session.rows(
        f"SELECT name FROM system.tables WHERE database = '{database}' ORDER BY name"
    )
    return {str(row["name"]): str(row["name"]) for row in rows}


def contents(session: ClickhouseSession, table: str, *, checksum: bool) -> Contents:
    """Of a table, by the text of its rows.

    # Errors
    `ServerError` when there is no such table.
    """
    if "`" in table or "\\" in table:
        raise ServerError(f"`{table}` is no name of a table")
    if not checksum:
        asked = f"SELECT count() AS rows FROM `{table}`"
        return Contents(int(only_row(session.rows(asked), asked)["rows"]))
    rows = session.lines(f"SELECT * FROM `{table}`")
    return contents_of([None if value == _NULL else value for value in row] for row in rows)
