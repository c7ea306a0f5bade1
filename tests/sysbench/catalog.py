"""What a server's own catalog says of the tables in a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pymysql

Rows = Sequence[tuple[Any, ...]]

_QUERIES: Mapping[str, Mapping[str, str]] = {
    "mysql": {
        "tables": "SELECT table_name, engine, table_collation FROM information_schema.tables "
        "WHERE table_schema = DATABASE() ORDER BY 1",
        "columns": "SELECT table_name, column_name, column_type, is_nullable, column_default, extra"
        " FROM information_schema.columns WHERE table_schema = DATABASE()"
        " ORDER BY table_name, ordinal_position",
        "indexes": "SELECT table_name, index_name, seq_in_index, column_name, non_unique"
        " FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
    },
    "postgresql": {
        "tables": "SELECT table_name, table_type FROM information_schema.tables"
        " WHERE table_schema = 'public' ORDER BY 1",
        "columns": "SELECT table_name, column_name, data_type, character_maximum_length,"
        " is_nullable, column_default FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        "indexes": "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'"
        " ORDER BY 1, 2",
    },
}


def catalog(target: Mapping[str, Any]) -> Mapping[str, Rows]:
    """Tables, columns and indexes of a run spec's target, and how many rows each table has."""
    connection: Any = _connect(target)
    with closing(connection), closing(connection.cursor()) as cursor:

        def rows(query: str) -> Rows:
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

        found = {name: rows(query) for name, query in _QUERIES[target["driver"]].items()}
        contents = "SELECT '{0}', COUNT(*), MIN(id), MAX(id), MIN(k) > 0, COUNT(k) FROM {0}"
        counted = [rows(contents.format(table[0])) for table in found["tables"]]
    return {**found, "contents": [row for table in counted for row in table]}


def _connect(target: Mapping[str, Any]) -> Any:
    at = target["endpoints"][0]["tcp"]
    account = {"host": at["host"], "port": at["port"], "user": target["user"]}
    if target["driver"] == "mysql":
        return pymysql.connect(**account, password=target["password"], database=target["database"])
    return psycopg.connect(
        **account, password=target["password"], dbname=target["database"], autocommit=True
    )
