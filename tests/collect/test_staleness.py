"""Stale reads of replicas: none where nothing is late, counted and timed where replay stands."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.staleness import COLLECTOR
from dbdyno.conduct.run.served import watched_members
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server
from dbdyno.servers.protocol import Member
from traces import LIMIT_S

pytestmark = pytest.mark.slow

STANDS: Mapping[str, tuple[str, str]] = {
    "postgresql@system": ("SELECT pg_wal_replay_pause()", "SELECT pg_wal_replay_resume()"),
    "mariadb@system": ("STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"),
}
LATE_MS = 500


def opened(server: Server, kind: str) -> Readings | Missing | None:
    return COLLECTOR.open(
        Watched(
            kind=kind,
            server_pids=server.node.processes,
            ask=server.database.ask,
            members=watched_members(server),
        )
    )


def say(member: Member, statement: str) -> None:
    session = member.server.database.inside()
    try:
        session.rows(statement)
    finally:
        session.close()


def read(readings: Readings) -> Mapping[str, float]:
    found = list(readings.sample())
    assert {reading.instance for reading in found} == {"replica-1"}
    return {reading.metric: reading.value for reading in found}


@pytest.mark.parametrize("provision", STANDS)
def test_reads_of_a_replica_that_stands_still_are_stale(provision: str, tmp_path: Path) -> None:
    stop, go_on = STANDS[provision]
    topology = {"name": "primary-replicas"}
    with open_server(provision, {}, tmp_path, topology=topology) as server:
        server.start()
        _, replica = server.members
        readings = opened(server, provision.partition("@")[0])
        assert readings is not None and not isinstance(readings, Missing)
        try:
            say(replica, stop)
            deadline = time.monotonic() + LIMIT_S
            longest = 0.0
            while longest < LATE_MS and time.monotonic() < deadline:
                select.select([], [], [], 0.1)
                longest = max(longest, read(readings)["stale_ms"])
            stood = read(readings)
            say(replica, go_on)
            server.members.settle(LIMIT_S)
            fresh, last = 0.0, read(readings)
            while fresh == 0.0 and time.monotonic() < deadline:
                select.select([], [], [], 0.1)
                now = read(readings)
                fresh = now["reads"] - last["reads"] - (now["stale_reads"] - last["stale_reads"])
        finally:
            readings.close()
        left = server.database.tables()

    assert longest >= LATE_MS
    assert 0 < stood["stale_reads"] <= stood["reads"]
    assert fresh > 0
    assert left == {}


def test_members_with_other_rows_are_not_read(tmp_path: Path) -> None:
    with open_server(
        "postgresql@system", {}, tmp_path, topology={"name": "postgres-fdw", "nodes": 1}
    ) as server:
        server.start()
        missing = opened(server, "postgresql")

    assert isinstance(missing, Missing)
    assert "no member" in missing.what
