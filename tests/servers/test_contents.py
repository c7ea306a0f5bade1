"""A table's checksum: the same wherever the same rows are, another one for any other rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from kinds import connect_mysql, connect_postgresql

from dbdyno.errors import ServerError
from dbdyno.servers import Contents, Server, open_server
from dbdyno.servers.contents import contents_of

Row = tuple[object, ...]

ROWS: Sequence[Row] = (
    (1, 9223372036854775807, "it's", b"\x00\xff"),
    (2, -9223372036854775808, "", None),
    (3, None, None, b""),
    (4, 0, "ä\t€\n\\N", b"\x1f"),
    (5, 0, "\\N", None),
)
TABLE = 'CREATE TABLE rows_of_it (id int, k bigint, c varchar(90), "Raw Bytes" {bytes})'


@dataclass(frozen=True)
class Kind:
    provision: str
    connect: Callable[[Any], Any]
    bytes: str
    place: str = "%s"

    def write(self, server: Server, rows: Sequence[Row]) -> None:
        """The table anew with these rows."""
        with closing(self.connect(server.entry.target())) as connection:
            cursor = connection.cursor()
            cursor.execute("DROP TABLE IF EXISTS rows_of_it")
            cursor.execute(TABLE.format(bytes=self.bytes))
            places = ", ".join([self.place] * 4)
            for row in rows:
                cursor.execute(f"INSERT INTO rows_of_it VALUES ({places})", row)


def connect_mariadb(target: Any) -> Any:
    return connect_mysql(target, charset="utf8mb4", init_command="SET sql_mode = 'ANSI_QUOTES'")


def connect_sqlite(target: Any) -> Any:
    return sqlite3.connect(str(target["path"]), isolation_level=None)


KINDS = {
    "postgresql": Kind("postgresql@system", connect_postgresql, "bytea"),
    "mariadb": Kind("mariadb@system", connect_mariadb, "blob"),
    "sqlite": Kind("sqlite", connect_sqlite, "blob", place="?"),
}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS), scope="module"),
]


@pytest.fixture(scope="module")
def place(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kind, Server]]:
    with open_server(kind.provision, {}, tmp_path_factory.mktemp("server")) as server:
        server.start()
        yield kind, server


def expected(rows: Sequence[Row]) -> Contents:
    """By the definition, without a server."""

    def text(value: object) -> bytes | None:
        if value is None:
            return None
        return value.hex().encode() if isinstance(value, bytes) else str(value).encode()

    return contents_of(map(text, row) for row in rows)


def check(place: tuple[Kind, Server], rows: Sequence[Row]) -> Contents:
    kind, server = place
    kind.write(server, rows)
    found = server.database.contents("rows_of_it", checksum=True)
    assert found == expected(rows)
    assert server.database.contents("rows_of_it", checksum=False) == Contents(len(rows))
    return found


def test_the_same_rows_have_one_checksum_everywhere(place: tuple[Kind, Server]) -> None:
    found = check(place, ROWS)
    assert found.rows == 5
    assert check(place, ROWS[::-1]) == found, "their order does not matter"
    assert check(place, []) == Contents(0, "0" * 16)


def test_any_other_row_shows(place: tuple[Kind, Server]) -> None:
    ways = [
        ROWS,
        ROWS[1:],
        (*ROWS, ROWS[0]),
        (*ROWS, ROWS[0], ROWS[0]),
        (*ROWS[:4], (5, 0, None, None)),
        ((1, 9223372036854775806, "it's", b"\x00\xff"), *ROWS[1:]),
        ((1, 9223372036854775807, "it's", b"\x00\xfe"), *ROWS[1:]),
    ]
    found = {check(place, rows).checksum for rows in ways}
    assert len(found) == len(ways)


def test_what_is_not_there_is_named(place: tuple[Kind, Server]) -> None:
    _, server = place
    for checksum in (True, False):
        with pytest.raises(ServerError, match="missing_one"):
            server.database.contents("missing_one", checksum=checksum)
