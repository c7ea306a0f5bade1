"""MariaDB's Spider: a coordinator, to which clients connect, and nodes that hold the rows of its
tables by the hash of their primary key.

Scripts create and load their tables as ever, in the coordinator. Before the load begins each table
that has a primary key is made on every node, and its rows move there: the coordinator's is then a
partitioned Spider table with a partition for every node. All rows are compared by checksum before
and after. Primary and unique keys hold on each node by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.features import lacks
from dbdyno.servers.databases.mysql.query import quoted
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec, Source
from dbdyno.servers.topologies.several import COORDINATOR, NODE, Several, ShardsTable
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_PLUGIN = "ha_spider"
_SERVER = """
    CREATE OR REPLACE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '{host}',
    PORT {port}, USER '{user}', PASSWORD '{password}', DATABASE '{database}')"""
_TO_SPREAD = """
    SELECT TABLE_NAME AS name,
           GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION SEPARATOR ',') AS columns,
           GROUP_CONCAT(IF(COLUMN_KEY = 'PRI', COLUMN_NAME, NULL)
                        ORDER BY ORDINAL_POSITION SEPARATOR ',') AS key_columns,
           SUM(COLUMN_KEY = 'PRI' AND DATA_TYPE LIKE '%int') AS whole_numbers
    FROM information_schema.TABLES JOIN information_schema.COLUMNS
         USING (TABLE_SCHEMA, TABLE_NAME)
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'SPIDER'
          AND IS_GENERATED = 'NEVER'
    GROUP BY TABLE_NAME HAVING key_columns IS NOT NULL ORDER BY TABLE_NAME"""
_LOADED = "{} as loaded"
"""What a table is called while its rows move."""
# The counter of the coordinator numbers rows without a value of their own: nobody else inserts.
_ENGINE = 'wrapper "mysql", table "{name}", auto_increment_mode "1"'


class Spider(Several):
    """Its database is the coordinator's."""

    _same_rows = False

    def _join(self, *, new: bool) -> None:
        """Has the coordinator know where the nodes are; tables find them by name."""
        with closing(self._first.server.database.inside()) as session:
            if new:
                session.rows(f"INSTALL SONAME '{_PLUGIN}'")
            for node in self._nodes:
                target: Mapping[str, Any] = node.server.entry.target("tcp")
                place = target["endpoints"][0]["tcp"]
                session.rows(_SERVER.format(name=quoted(node.name), **place, **target))

    def _settle(self, limit_s: float) -> None:
        """Moves the rows of tables that were loaded since; a statement takes `limit_s` at most."""
        with closing(self._first.server.database.inside()) as session:
            session.rows("SET sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")
            session.rows(f"SET max_statement_time = {limit_s}")
            session.rows("SET group_concat_max_len = 1048576")
            for table in session.rows(_TO_SPREAD):
                try:
                    self._spread(session, table)
                except ServerError as error:
                    message = f"`{table['name']}` can't be spread over the nodes: {error.message}"
                    raise error.reworded(message, hint=error.hint) from error

    @property
    def _nodes(self) -> Sequence[Member]:
        return self._members[1:]

    def _spread(self, session: Session, table: Mapping[str, Any]) -> None:
        name, loaded = quoted(table["name"]), quoted(_LOADED.format(table["name"]))
        database = self._first.server.database
        before = database.contents(name, checksum=True)
        session.rows(f"RENAME TABLE {name} TO {loaded}")
        session.rows(f"CREATE TABLE {name} LIKE {loaded}")
        self._make_on_nodes(name, only_row(session.rows(f"SHOW CREATE TABLE {name}"), name))
        session.rows(f"ALTER TABLE {name} {self._partitioned(table)}")
        columns = _listed(table["columns"])
        session.rows(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {loaded}")
        if (after := database.contents(name, checksum=True)) != before:
            raise ServerError(f"it had {before} before, and has {after} on the nodes")
        session.rows(f"DROP TABLE {loaded}")

    def _make_on_nodes(self, name: str, shown: Mapping[str, Any]) -> None:
        with ExitStack() as stack:
            for node in self._nodes:
                session = stack.enter_context(closing(node.server.database.inside()))
                session.rows(f"DROP TABLE IF EXISTS {name}")
                session.rows(str(shown["Create Table"]))

    def _partitioned(self, table: Mapping[str, Any]) -> str:
        """Options of the coordinator's table. A single whole number is divided by the number of
        nodes, which spreads rows evenly; `KEY` does not."""
        keys = str(table["key_columns"])
        even = "," not in keys and table["whole_numbers"] == 1
        rule = f"{'HASH' if even else 'KEY'} ({_listed(keys)})"
        partitions = ", ".join(
            f"PARTITION p{number} COMMENT = 'server \"{node.name}\"'"
            for number, node in enumerate(self._nodes, start=1)
        )
        comment = _ENGINE.format(name=table["name"])
        return f"ENGINE = SPIDER COMMENT = '{comment}' PARTITION BY {rule} ({partitions})"


def _listed(columns: str) -> str:
    return ", ".join(quoted(column) for column in columns.split(","))


def _members(spec: ServerSpec, keys: ShardsTable, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec)


def _open(spec: ServerSpec, keys: ShardsTable, openers: Openers, folder: Path) -> Server:
    return Spider(TOPOLOGY.name, keys.opened(spec, openers, folder))


def _refuses(provision: Provision, keys: ShardsTable, _openers: Openers) -> str | None:
    if provision.kind != BRAND.kind:
        return f"its servers are MariaDB, not `{provision.kind}`"
    if provision.source is Source.URL:
        return "a server by URL is somebody else's, and gets no nodes"
    for _, _, where in lacks(provision, {"plugin_load_add": _PLUGIN}, {}):
        return f"{provision.text} has no Spider; {where}"
    return keys.unknown_role(COORDINATOR, NODE)


TOPOLOGY = Topology("spider", _open, keys=ShardsTable, members=_members, refuses=_refuses)
