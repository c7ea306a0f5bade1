"""Servers that die and come back: on their port, in their group, behind a proxy that notices."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping
from pathlib import Path

import pymysql
import pytest
from kinds import KINDS

from dbdyno.servers import Server, ServerSpec, open_server, open_spec, resolve
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Member, Wish
from traces import LIMIT_S, nothing_left

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_comes_back_on_its_port(kind: str, tmp_path: Path) -> None:
    with nothing_left(), open_server(KINDS[kind].system, {}, tmp_path) as server:
        server.start()
        before = server.entry.target("tcp")

        server.node.kill()
        server.node.restart(LIMIT_S)

        assert server.entry.target("tcp") == before


def promoted(provision: str, replication: str) -> ServerSpec:
    """A primary with a replica behind HAProxy."""
    topology = {"name": "primary-replicas", "replication": replication}
    return ServerSpec(resolve(provision), topology=topology, proxy=Wish("haproxy"))


@pytest.mark.parametrize(
    ("provision", "replication"),
    [
        ("postgresql@system", "synchronous"),
        ("mariadb@system", "semi-synchronous"),
        pytest.param("mysql@sid", "semi-synchronous", marks=pytest.mark.nightly),
    ],
)
def test_clients_reach_a_promoted_replica_and_the_old_primary_follows_it(
    provision: str, replication: str, tmp_path: Path
) -> None:
    with nothing_left(), open_spec(promoted(provision, replication), tmp_path) as server:
        server.start()
        target = server.entry.target()
        before = inserted(target, 1, "CREATE TABLE written (id int PRIMARY KEY)")
        old, replica = server.members
        promotion = server.members.promotion
        assert promotion is not None

        old.server.node.kill()
        chosen = promotion.promote(LIMIT_S)
        after = inserted(target, 2)
        promotion.rejoin(old, LIMIT_S)

        assert [(member.name, member.role) for member in server.members] == [
            ("replica-1", "primary"),
            ("primary", "replica"),
        ]
        assert chosen.name == replica.name
        assert before != after == inserted(target, 3)
        assert rows_of_all(server) == {3}


@pytest.mark.parametrize(
    ("provision", "words"),
    [
        ("mariadb@system", ("STOP SLAVE", "SET sql_log_bin = 0")),
        pytest.param(
            "mysql@sid", ("STOP REPLICA", "SET sql_log_bin = 0"), marks=pytest.mark.nightly
        ),
    ],
)
def test_what_only_a_lost_primary_had_is_gone_and_a_planned_change_loses_nothing(
    provision: str, words: tuple[str, str], tmp_path: Path
) -> None:
    stop, unlogged = words
    with nothing_left(), open_spec(promoted(provision, "asynchronous"), tmp_path) as server:
        server.start()
        old, replica = server.members
        promotion = server.members.promotion
        assert promotion is not None
        carried_out(
            old, "CREATE TABLE written (id int PRIMARY KEY)", "INSERT INTO written VALUES (1)"
        )
        server.members.settle(LIMIT_S)
        carried_out(replica, stop)
        carried_out(
            old, "INSERT INTO written VALUES (2)", unlogged, "CREATE TABLE its_own (id int)"
        )

        old.server.node.kill()
        promotion.promote(LIMIT_S)
        inserted(server.entry.target(), 3)
        promotion.rejoin(old, LIMIT_S)
        assert rows_of_all(server) == {2}
        assert "its_own" not in old.server.database.tables()

        carried_out(replica, unlogged, "CREATE TABLE its_own (id int)")
        inserted(server.entry.target(), 4)
        promotion.end(LIMIT_S)
        promotion.promote(LIMIT_S)
        inserted(server.entry.target(), 5)
        promotion.rejoin(replica, LIMIT_S)

        assert server.members.servers[0].name == "primary"
        assert rows_of_all(server) == {4}
        assert "its_own" in replica.server.database.tables()


def carried_out(member: Member, *statements: str) -> None:
    session = member.server.database.inside()
    try:
        for statement in statements:
            session.rows(statement)
    finally:
        session.close()


def rows_of_all(server: Server) -> set[int | None]:
    """How many rows the members have, which must be alike."""
    server.members.settle(LIMIT_S)
    contents = {
        member.server.database.contents("written", checksum=True) for member in server.members
    }
    assert len(contents) == 1
    return {table.rows for table in contents}


@pytest.mark.nightly
def test_clients_reach_another_node_and_the_killed_one_rejoins(tmp_path: Path) -> None:
    wish = Wish("haproxy", settings={"inter": "500", "fall": "2"})
    topology: Mapping[str, object] = {"name": "galera", "nodes": 3}
    spec = ServerSpec(resolve("mariadb@system"), topology=topology, proxy=wish)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        target = server.entry.target()
        assert written_to(target, 1) == "node-1"
        first = server.members.servers[0]

        first.server.node.kill()
        assert written_to(target, 2) == "node-2"
        first.server.node.restart(LIMIT_S)

        assert written_to(target, 3) == "node-2"
        server.members.settle(LIMIT_S)
        rows = [
            member.server.database.contents("sbtest.written", checksum=False).rows
            for member in server.members
        ]
        assert rows == [3, 3, 3]
        assert "rsync IST completed" in (tmp_path / "node-1" / "server.log").read_text()


@pytest.mark.nightly
def test_a_killed_node_of_group_replication_rejoins_the_group(tmp_path: Path) -> None:
    topology: Mapping[str, object] = {"name": "group-replication", "nodes": 3}
    spec = ServerSpec(resolve("mysql@sid"), topology=topology)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        *_, last = server.members.servers
        session = server.database.inside()
        session.rows("CREATE TABLE written (id INT PRIMARY KEY)")
        last.server.node.kill()
        session.rows("INSERT INTO written VALUES (1), (2)")
        last.server.node.restart(LIMIT_S)
        session.rows("INSERT INTO written VALUES (3)")
        session.close()

        server.members.settle(LIMIT_S)
        contents = {
            member.server.database.contents("written", checksum=True) for member in server.members
        }
        assert [table.rows for table in contents] == [3]


def inserted(target: Mapping[str, object], number: int, before: str = "SELECT 1") -> int:
    """Inserts a row as a client does; the port of the server that took it."""
    session = client_session(target, 5.0)
    try:
        session.rows(before)
        session.rows(f"INSERT INTO written VALUES ({number})")
        return session.port()
    finally:
        session.close()


def written_to(target: Mapping[str, object], number: int) -> str:
    """Writes a row as soon as that works; the node that took it."""
    endpoints = target["endpoints"]
    assert isinstance(endpoints, list)
    place = endpoints[0]["tcp"]
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            with pymysql.connect(
                host=place["host"],
                port=place["port"],
                user=str(target["user"]),
                password=str(target["password"]),
                database="sbtest",
                autocommit=True,
                connect_timeout=5,
                read_timeout=10,
            ) as connection:
                cursor = connection.cursor()
                cursor.execute("CREATE TABLE IF NOT EXISTS written (id INT PRIMARY KEY)")
                cursor.execute("REPLACE INTO written VALUES (%s)", (number,))
                cursor.execute("SELECT @@wsrep_node_name")
                (row,) = cursor.fetchall()
                return str(row[0])
        except pymysql.Error:
            if time.monotonic() > deadline:
                raise
            select.select([], [], [], 0.1)
