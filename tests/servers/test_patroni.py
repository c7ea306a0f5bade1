"""PostgreSQL under Patroni: joined when it is ready, another primary when one dies or is asked to
give up its place, and clients that follow through HAProxy."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.conduct.acts.act import Scene
from dbdyno.conduct.acts.registry import ACTS
from dbdyno.errors import ServerError
from dbdyno.model.fault import Fault
from dbdyno.servers import Server, ServerSpec, open_spec, resolve
from dbdyno.servers.client_session import ClientError, client_session
from dbdyno.servers.protocol import Wish
from traces import LIMIT_S, nothing_left

# Three servers and a minute, and only this topology's own modules reach it.
pytestmark = [pytest.mark.slow, pytest.mark.nightly]

QUICK: Mapping[str, object] = {"ttl": 20, "loop_wait": 2, "retry_timeout": 3}
ADDRESS = "SELECT pg_postmaster_start_time()::text AS started, inet_server_port() AS port"


@contextmanager
def cluster(folder: Path, **keys: object) -> Iterator[Server]:
    topology = {"name": "patroni", "nodes": 2, **QUICK, **keys}
    wish = Wish("haproxy", settings={"inter": "500", "fall": "2", "rise": "1"})
    spec = ServerSpec(resolve("postgresql@system"), topology=topology, proxy=wish)
    with nothing_left(), open_spec(spec, folder) as server:
        server.start()
        yield server


def test_a_cluster_has_joined_when_it_is_ready(tmp_path: Path) -> None:
    with cluster(tmp_path, replication="synchronous") as server:
        session = server.database.inside()
        (stream,) = session.rows("SELECT application_name, sync_state FROM pg_stat_replication")
        session.close()
        facts: Any = server.facts()["topology"]
        names = [member.name for member in server.members]

    assert stream == {"application_name": "node-2", "sync_state": "sync"}
    assert names == ["node-1", "node-2"]
    assert facts["patroni"].startswith("patroni ")
    assert facts["etcd"].startswith("etcd Version")
    assert facts["without_primary_s"] == 22


def test_clients_follow_a_planned_change_and_a_death(tmp_path: Path) -> None:
    with cluster(tmp_path) as server:
        target = server.entry.target()
        first = written(target, 1, "CREATE TABLE written (id int PRIMARY KEY)")
        promotion = server.members.promotion
        assert promotion is not None

        old = server.members.servers[0]
        promotion.end(LIMIT_S)
        chosen = promotion.promote(LIMIT_S)
        second = written(target, 2)
        promotion.rejoin(old, LIMIT_S)
        assert (old.name, chosen.name) == ("node-1", "node-2")
        assert first != second

        chosen.server.node.kill()
        back = promotion.promote(LIMIT_S)
        third = written(target, 3)
        promotion.rejoin(chosen, LIMIT_S)

        assert back.name == "node-1"
        assert third == first
        server.members.settle(LIMIT_S)
        contents = {
            member.server.database.contents("written", checksum=True) for member in server.members
        }
        assert [table.rows for table in contents] == [3]


def test_a_killed_server_is_started_by_patroni(tmp_path: Path) -> None:
    with cluster(tmp_path) as server:
        member = server.members.servers[0]
        before = answered(server)
        act = ACTS["kill-server"](Scene(server, member, Fault("kill-server", 0.0, 0.0)))
        act.begin()
        act.end()
        deadline = time.monotonic() + LIMIT_S
        while answered(server)["started"] == before["started"] and time.monotonic() < deadline:
            select.select([], [], [], 0.1)

        after = answered(server)
        assert member.server.alive()
        assert after["started"] != before["started"]
        assert server.members.servers[0].name == "node-1"


def test_a_cluster_that_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    with cluster(tmp_path) as server:
        server.node.kill()
        with pytest.raises(ServerError, match="no node of the cluster runs"):
            server.members.settle(LIMIT_S)


def test_a_setting_that_patroni_leaves_out_is_an_error(tmp_path: Path) -> None:
    spec = ServerSpec(
        resolve("postgresql@system"),
        {"no_such_setting": "1"},
        topology={"name": "patroni", "nodes": 2, **QUICK},
    )
    with (
        nothing_left(),
        open_spec(spec, tmp_path) as server,
        pytest.raises(ServerError, match="no_such_setting"),
    ):
        server.start()


def answered(server: Server) -> Mapping[str, Any]:
    session = server.database.inside()
    try:
        return session.rows(ADDRESS)[0]
    finally:
        session.close()


def written(target: Mapping[str, Any], number: int, before: str = "SELECT 1") -> int:
    """Writes a row as a client does, as soon as that works; the port of the server that took it."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            session = client_session(target, 5.0)
            try:
                session.rows(before)
                session.rows(f"INSERT INTO written VALUES ({number})")
                return session.port()
            finally:
                session.close()
        except ClientError:
            if time.monotonic() > deadline:
                raise
            select.select([], [], [], 0.1)
