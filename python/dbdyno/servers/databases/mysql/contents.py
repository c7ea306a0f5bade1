"""Rows and checksum of a table in MySQL or MariaDB, taken by the server."""

from __future__ import annotations

from dbdyno.servers.contents import NULL, SEPARATOR, Contents, checksum_of
from dbdyno.servers.databases.mysql.query import quoted
from dbdyno.servers.databases.mysql.session import MysqlSession

_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit")


def contents(session: MysqlSession, table: str, *, checksum: bool) -> Contents:
    """Of a table, named as in a statement. `session` is used for nothing else, and is closed.

    # Errors
    `ServerError` when there is no such table, or it can't be read.
    """
    try:
        if not checksum:
            return Contents(session.row(f"SELECT COUNT(*) AS found FROM {table}")["found"])
        session.rows("SET time_zone = '+00:00'")
        columns = session.rows(f"SHOW COLUMNS FROM {table}")
        values = (_text(column["Field"], column["Type"]) for column in columns)
        texts = ", ".join(f"COALESCE({value}, CHAR({NULL} USING utf8mb4))" for value in values)
        row = f"CONCAT_WS(CHAR({SEPARATOR} USING utf8mb4), {texts})"
        # Sums of whole numbers are exact: they are decimal.
        found = session.row(
            "SELECT COUNT(*) AS found, COALESCE(SUM(CAST("
            f"CONV(LEFT(MD5({row}), 16), 16, 10) AS UNSIGNED)), 0) AS total FROM {table}"
        )
        return Contents(found["found"], checksum_of(int(found["total"])))
    finally:
        session.close()


def _text(field: str, kind: str) -> str:
    name = quoted(field)
    is_bytes = kind.partition("(")[0].lower() in _BYTES
    return f"LOWER(HEX({name}))" if is_bytes else f"CONVERT({name} USING utf8mb4)"
