"""Rows and checksum of a table in Dolt, taken by the server: equal to MySQL's for equal rows.

MySQL's own expressions would do, but for what Dolt 1.59 makes of them: CONVERT(… USING utf8mb4) of
a number is empty, a sum is a double, and trailing spaces of CHAR are part of its values.
"""

from __future__ import annotations

from dbdyno.errors import ServerError
from dbdyno.servers.contents import NULL, SEPARATOR, Contents, checksum_of
from dbdyno.servers.databases.mysql.query import quoted
from dbdyno.servers.databases.mysql.session import MysqlSession

_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_AS_WRITTEN = frozenset(
    {
        *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double"),
        *("varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"),
        *("datetime", "timestamp", "year"),
    }
)
"""Types whose values CAST writes as MySQL's does; but large figures of `float` and `double` have no
exponent."""


def contents(session: MysqlSession, table: str, *, checksum: bool) -> Contents:
    """Of a table, named as in a statement. `session` is used for nothing else, and is closed.

    # Errors
    `ServerError` when there is no such table, it can't be read, or a column is of a type whose
    values Dolt can't turn into text.
    """
    try:
        if not checksum:
            return Contents(session.row(f"SELECT COUNT(*) AS found FROM {table}")["found"])
        session.rows("SET time_zone = '+00:00'")
        columns = session.rows(f"SHOW COLUMNS FROM {table}")
        values = (_text(table, column["Field"], column["Type"]) for column in columns)
        texts = ", ".join(f"COALESCE({value}, CHAR({NULL} USING utf8mb4))" for value in values)
        row = f"CONCAT_WS(CHAR({SEPARATOR} USING utf8mb4), {texts})"
        # The first 64 bits of a digest in four parts, whose sums are exact as doubles.
        sums = ", ".join(
            f"COALESCE(SUM(CONV(SUBSTRING(digest, {4 * part + 1}, 4), 16, 10)), 0) AS part{part}"
            for part in range(4)
        )
        counted = session.row(
            f"SELECT COUNT(*) AS found, {sums} FROM (SELECT MD5({row}) AS digest FROM {table}) AS t"
        )
        total = sum(int(counted[f"part{part}"]) << 16 * (3 - part) for part in range(4))
        return Contents(counted["found"], checksum_of(total))
    finally:
        session.close()


def _text(table: str, field: str, kind: str) -> str:
    name, kind = quoted(field), kind.partition("(")[0].partition(" ")[0].lower()
    if kind in _BYTES:
        return f"LOWER(HEX({name}))"
    if kind == "char":
        return f"RTRIM({name})"
    if kind == "date":
        return f"DATE_FORMAT({name}, '%Y-%m-%d')"
    if kind in _AS_WRITTEN:
        return f"CAST({name} AS CHAR)"
    raise ServerError(
        f"{table} has no checksum: Dolt can't turn `{field}`, a {kind}, into text",
        hint='`verify = "counts"` compares numbers of rows alone',
    )
