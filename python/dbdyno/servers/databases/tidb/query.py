"""What a TiDB server says of itself, in MySQL's statements.

Of MySQL's status variables it has none that counts work; the collector `tidb` reads its metrics.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.servers.databases.mysql import query
from dbdyno.servers.databases.mysql.session import MysqlSession
from dbdyno.servers.databases.tidb.program import VERSION
from dbdyno.servers.protocol import Capacity

DURABILITY = "D0"
"""A commit returns after its first key is in the store's synced log. Keys of one transaction that
are on other regions follow; their locks are in memory alone until the process ends in order
(mvcc.go of TiDB's unistore), so a crash between the two tears the transaction."""


def facts(session: MysqlSession) -> Mapping[str, object]:
    """Its release, the MySQL release whose behaviour it offers, character set and durability."""
    effective = query.settings(session)
    return {
        "version": VERSION,
        "version_number": query.version_number(VERSION),
        "build": f"{effective['version']} {effective['version_comment']}",
        "encoding": effective["character_set_server"],
        "durability": DURABILITY,
    }


def capacity(session: MysqlSession) -> Capacity:
    """Of connections and prepared statements, where its settings limit them."""
    effective = query.settings(session)
    most = int(effective["max_connections"])
    statements = int(effective["max_prepared_stmt_count"])
    used = int(session.row("SELECT COUNT(*) AS used FROM information_schema.PROCESSLIST")["used"])
    return Capacity(
        connections=most - used if most > 0 else None,
        basis=f"max_connections {most}, {used} in use" if most > 0 else "",
        cure="raise the server's max_connections (a setting of the study)",
        statements=statements if statements >= 0 else None,
    )
