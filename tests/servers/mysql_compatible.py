"""What servers that speak MySQL's protocol have in common, as tests of each ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from kinds import connect_mysql, kill_behind_its_back, rows_of

from dbdyno.servers import Server, open_server
from traces import LIMIT_S


def assert_contents_are_those_of_mariadb(
    server: Server, statements: Sequence[str], folder: Path
) -> None:
    """`statements`, which the server has carried out, make three rows in table `t`."""
    database = server.database
    contents = database.contents("t", checksum=True)
    with open_server("mariadb@system", {}, folder) as other:
        other.start()
        for statement in statements:
            rows_of(other, statement)
        assert other.database.contents("t", checksum=True) == contents
    assert contents.rows == 3
    rows_of(server, "UPDATE t SET id = 4 WHERE id = 3")
    assert database.contents("t", checksum=True).checksum != contents.checksum


def assert_passwords_are_needed(server: Server, refusal: str) -> None:
    """`refusal`: a regular expression for what it says."""
    target = server.entry.target("tcp")
    with connect_mysql(target) as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT 1") == 1
    for user in ("dbdyno", "root"):
        with pytest.raises(Exception, match=refusal):
            connect_mysql({**target, "user": user, "password": ""})


def assert_rows_survive_a_kill(server: Server) -> None:
    """Also of the restart."""
    rows_of(server, "CREATE TABLE t (id INT PRIMARY KEY)")
    rows_of(server, "INSERT INTO t VALUES (1)")
    kill_behind_its_back(server)
    server.node.restart(LIMIT_S)
    assert list(rows_of(server, "SELECT id FROM t")) == [{"id": 1}]


def assert_clients_may_encrypt(provision: str, folder: Path) -> None:
    """Without checking its certificate."""
    with open_server(provision, {}, folder, tls=True) as server:
        server.start()
        target = server.entry.target("tcp")
        unchecked = {"ssl_disabled": False, "ssl_verify_cert": False}
        with connect_mysql(target, **unchecked) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert connection._secure  # type: ignore[attr-defined]
