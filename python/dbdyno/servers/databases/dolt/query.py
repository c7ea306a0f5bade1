"""What a Dolt server says of itself, in MySQL's statements.

Dolt lists all variables and counters that MySQL 8.0 has. Most have no meaning in it, and counters
that it does not count are 0: only those that its source counts are passed on.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.servers.databases.mysql import query
from dbdyno.servers.databases.mysql.session import MysqlSession

COUNTED = frozenset(
    {
        "Aborted_connects",
        "Com_delete",
        "Com_insert",
        "Com_select",
        "Com_update",
        "Connections",
        "Questions",
        "Slow_queries",
        "Threads_connected",
        "Threads_running",
    }
)
"""Status variables that go-mysql-server, of which Dolt is made, increments in its source."""

DURABILITY = "D2"
"""A transaction's commit returns after its root hash is written to the chunk journal and the
journal synced (commitRootHashUnlocked in Dolt's store/nbs/journal_writer.go): it survives a crash
of the machine. No setting turns that off."""


def facts(session: MysqlSession) -> Mapping[str, object]:
    """Its release, the MySQL release whose behaviour it offers, character set and durability."""
    effective = query.settings(session)
    release = str(session.row("SELECT dolt_version() AS version")["version"])
    return {
        "version": release,
        "version_number": query.version_number(release),
        "build": f"Dolt {release}, as MySQL {effective['version']}",
        "encoding": effective["character_set_server"],
        "durability": DURABILITY,
    }


def counters(session: MysqlSession) -> Mapping[str, int]:
    """Of the whole server; between two calls the lab sends one statement of its own: this one."""
    counts = query.counters(session)
    return {name: count for name, count in counts.items() if name in COUNTED}
