"""Rows and checksum of a table in PostgreSQL, taken by the server."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.servers.contents import NULL, SEPARATOR, Contents, checksum_of
from dbdyno.servers.databases.postgresql.query import PostgresqlSession

_SETTINGS = (
    "SET statement_timeout = 0",
    # The text of a row must not depend on the server's settings, nor on its version: PostgreSQL 12
    # began to write floating-point numbers with as many digits as it takes.
    "SET timezone = 'UTC'",
    "SET datestyle = 'ISO, YMD'",
    "SET intervalstyle = 'postgres'",
    "SET extra_float_digits = 0",
    "SET lc_monetary = 'C'",
)
_COLUMNS = """
    SELECT quote_ident(attname) AS name, atttypid = 'bytea'::regtype AS is_bytes FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_TABLES = """
    SELECT CASE nspname WHEN 'public' THEN relname ELSE nspname || '.' || relname END AS name,
        quote_ident(nspname) || '.' || quote_ident(relname) AS in_statements
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND nspname !~ '^pg_' AND nspname <> 'information_schema'
        AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = pg_class.oid)
    ORDER BY name"""


def tables(session: PostgresqlSession) -> Mapping[str, str]:
    """Each with its name as in a statement. A partition belongs to its table.

    `session` is used for nothing else, and is closed.
    """
    try:
        return {row["name"]: row["in_statements"] for row in session.rows(_TABLES)}
    finally:
        session.close()


def contents(session: PostgresqlSession, table: str, *, checksum: bool) -> Contents:
    """Of a table, named as in a statement. `session` is used for nothing else, and is closed.

    # Errors
    `ServerError` when there is no such table, or it can't be read.
    """
    try:
        for setting in _SETTINGS:
            session.rows(setting)
        if not checksum:
            return Contents(session.row(f"SELECT count(*) AS rows FROM {table}")["rows"])
        columns = session.rows(_COLUMNS, table)
        text = f" || chr({SEPARATOR}) || ".join(
            f"coalesce({_text(column['name'], column['is_bytes'])}, chr({NULL}))"
            for column in columns
        )
        # Sums of bigint are exact: they are numeric.
        found = session.row(
            "SELECT count(*) AS rows, coalesce(sum(('x' || left(md5("
            f"{text}), 16))::bit(64)::bigint), 0) AS total FROM {table}"
        )
        return Contents(found["rows"], checksum_of(int(found["total"])))
    finally:
        session.close()


def _text(name: str, is_bytes: bool) -> str:
    return f"encode({name}, 'hex')" if is_bytes else f"{name}::text"
