"""The kinds of server that are processes: how a test starts, reaches and watches one of each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pymysql
import pytest

from dbdyno.errors import ServerError
from dbdyno.servers import Server
from traces import wait_until_dead


@dataclass(frozen=True, slots=True)
class KindUnderTest:
    """What tests of every kind need to know of one."""

    provision: str
    """A version that starts fast."""
    system: str
    """What the distribution installed."""
    connect: Callable[[Mapping[str, Any]], Any]
    """As the engine would, by a DB-API."""
    url: Callable[[Mapping[str, Any]], str]
    """The URL of a target."""
    nowhere: str
    """A URL where nobody listens."""
    process: Callable[[Server], int]
    end_connections: str
    """Ends every connection but the one that says so, row by row where there are several."""
    reserved: str
    """A setting by which we watch it."""
    says_it_is_ready: str
    says_wrong_password: str


def kill_behind_its_back(server: Server) -> None:
    """Kills its process, which is noticed."""
    (pid,) = server.node.processes()[:1]
    os.kill(pid, signal.SIGKILL)
    wait_until_dead(server)
    with pytest.raises(ServerError, match=r"killed by signal 9 \(SIGKILL\)"):
        server.check()


def rows_of(server: Server, statement: str) -> Any:
    """What a session in the database under load answers."""
    session = server.database.inside()
    try:
        return session.rows(statement)
    finally:
        session.close()


def connect_mysql(target: Mapping[str, Any], **more: Any) -> pymysql.Connection[Any]:
    """A connection of PyMySQL."""
    (endpoint,) = target["endpoints"]
    place = {"unix_socket": endpoint["unix"]} if "unix" in endpoint else endpoint["tcp"]
    account = {
        "user": target["user"],
        "password": target.get("password", ""),
        "database": target["database"],
    }
    return pymysql.connect(**{**place, **account, "autocommit": True, "ssl_disabled": True, **more})


def connect_postgresql(target: Mapping[str, Any]) -> psycopg.Connection:
    """A connection of psycopg."""
    host, port = _libpq_place(target)
    return psycopg.connect(
        host=host,
        port=port,
        user=target["user"],
        dbname=target["database"],
        password=target.get("password"),
        autocommit=True,
    )


def _libpq_place(target: Mapping[str, Any]) -> tuple[str, str]:
    (endpoint,) = target["endpoints"]
    if "unix" in endpoint:
        folder, _, port = endpoint["unix"].rpartition("/.s.PGSQL.")
        return folder, port
    return endpoint["tcp"]["host"], str(endpoint["tcp"]["port"])


def _mariadb_url(target: Mapping[str, Any]) -> str:
    (endpoint,) = target["endpoints"]
    if "unix" in endpoint:
        return f"mariadb://dbdyno@/sbtest?socket={endpoint['unix']}"
    return "mariadb://dbdyno:{}@{host}:{port}/sbtest".format(target["password"], **endpoint["tcp"])


def _postgresql_url(target: Mapping[str, Any]) -> str:
    host, port = _libpq_place(target)
    return f"postgresql://dbdyno:{target.get('password', '')}@/sbtest?host={host}&port={port}"


def _pid_in(file: str, server: Server) -> int:
    """The first number in a file, which is named from the data folder."""
    folder = server.node.data_folder()
    assert folder is not None
    return int((folder / file).read_text().split()[0])


mariadbd = partial(_pid_in, "../server.pid")
"""A server's process."""
postmaster = partial(_pid_in, "postmaster.pid")
"""A server's first process."""


KINDS: Mapping[str, KindUnderTest] = {
    "mariadb": KindUnderTest(
        provision="mariadb@system",
        system="mariadb@system",
        connect=connect_mysql,
        url=_mariadb_url,
        nowhere="mysql://dbdyno@127.0.0.1:1/sbtest",
        process=mariadbd,
        end_connections="KILL USER dbdyno",
        reserved="bind_address",
        says_it_is_ready="ready for connections",
        says_wrong_password="Access denied",
    ),
    "postgresql": KindUnderTest(
        provision="postgresql:18.4",
        system="postgresql@system",
        connect=connect_postgresql,
        url=_postgresql_url,
        nowhere="postgresql://dbdyno@127.0.0.1:1/sbtest",
        process=postmaster,
        end_connections=(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ),
        reserved="port",
        says_it_is_ready="ready to accept connections",
        says_wrong_password="password authentication failed",
    ),
}
