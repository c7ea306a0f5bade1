"""What pgbouncer counts of its clients and pools, of all its processes together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.pgbouncer import COLLECTOR
from dbdyno.generators.command import url
from dbdyno.model import Missing
from dbdyno.servers import Server, ServerSpec, open_spec, resolve
from dbdyno.servers.client_session import ClientError, client_session
from dbdyno.servers.protocol import Wish
from traces import LIMIT_S, nothing_left

pytestmark = pytest.mark.slow

STATEMENTS = 5
SAMPLES = 12
"""More than a driver sends before it prepares a statement, which the console refuses."""


def opened(server: Server) -> Readings | Missing | None:
    target = server.entry.target()
    return COLLECTOR.open(Watched(exposed=server.members.exposed, url=url(target)))


def read(readings: Readings) -> Mapping[str, float]:
    return {reading.metric: reading.value for reading in readings.sample()}


def test_statements_of_all_processes_are_counted(tmp_path: Path) -> None:
    wish = Wish("pgbouncer", processes=2, settings={"default_pool_size": "3"})
    spec = ServerSpec(resolve("postgresql@system"), proxy=wish)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        readings = opened(server)
        assert readings is not None and not isinstance(readings, Missing)
        before = read(readings)
        target: Any = server.entry.target()
        sessions = [
            client_session({**target, "endpoints": [endpoint]}, LIMIT_S)
            for endpoint in target["endpoints"]
        ]
        for session in sessions:
            for _ in range(STATEMENTS):
                session.rows("SELECT repeat('x', 1000) AS text")
        for _ in range(SAMPLES):
            after = read(readings)
        for session in sessions:
            session.close()
        readings.close()

    assert after.keys() == {metric.name for metric in COLLECTOR.metrics}
    grown = {name: after[name] - before[name] for name in after}
    assert len(sessions) == 2
    assert grown["statements"] >= 2 * STATEMENTS
    assert grown["sent_bytes"] > 2 * STATEMENTS * 1000
    assert (after["clients"], after["clients_waiting"]) == (2, 0)
    assert after["servers"] + after["servers_idle"] == 2


def test_whoever_asks_takes_no_place_of_a_client(tmp_path: Path) -> None:
    wish = Wish("pgbouncer", settings={"max_client_conn": "2"})
    spec = ServerSpec(resolve("postgresql@system"), proxy=wish)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        readings = opened(server)
        assert readings is not None and not isinstance(readings, Missing)
        sessions = [client_session(server.entry.target(), LIMIT_S) for _ in range(2)]
        with pytest.raises(ClientError, match="no more connections allowed"):
            client_session(server.entry.target(), LIMIT_S)
        for session in sessions:
            session.close()
        readings.close()


def test_statistics_that_a_study_takes_away_are_missing(tmp_path: Path) -> None:
    wish = Wish("pgbouncer", settings={"stats_users": "somebody"})
    spec = ServerSpec(resolve("postgresql@system"), proxy=wish)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        missing = opened(server)

    assert isinstance(missing, Missing)
    assert "pgbouncer's statistics can't be read" in missing.what
