"""Servers of ours that offer TLS, with a certificate nobody else has."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import psycopg
import pytest
from kinds import connect_mysql

from dbdyno.servers import open_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]


@pytest.mark.parametrize("provision", ["mariadb:11.4.5", "mariadb@system"])
def test_a_server_that_speaks_mysql_encrypts(provision: str, tmp_path: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with open_server(provision, {}, tmp_path, tls=True) as server:
        server.start()
        more: dict[str, Any] = {"ssl_disabled": False, "ssl": context}
        with (
            connect_mysql(server.entry.target("tcp"), **more) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            (_, cipher) = cursor.fetchone() or ("", "")

    assert cipher


def test_a_mariadb_that_nobody_asks_for_tls_offers_it_without_a_key_of_its_own(
    tmp_path: Path,
) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    more: dict[str, Any] = {"ssl_disabled": False, "ssl": context}
    with open_server("mariadb:11.4.5", {}, tmp_path) as server:
        server.start()
        with (
            connect_mysql(server.entry.target("tcp"), **more) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT @@ssl_cert")
            ((certificate,),) = cursor.fetchall()

    assert certificate.endswith("/server-certificate.pem")


def test_postgresql_encrypts(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path, tls=True) as server:
        server.start()
        target: Any = server.entry.target("tcp")
        place = target["endpoints"][0]["tcp"]
        with psycopg.connect(
            host=place["host"],
            port=place["port"],
            user=target["user"],
            password=target["password"],
            dbname=target["database"],
            sslmode="require",
        ) as connection:
            assert connection.pgconn.ssl_in_use
