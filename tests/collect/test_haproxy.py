"""What HAProxy tells of its clients and servers, of all its processes together."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.haproxy import COLLECTOR
from dbdyno.model import Missing
from dbdyno.servers import Server, ServerSpec, open_spec, resolve
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Wish
from traces import LIMIT_S, nothing_left

pytestmark = pytest.mark.slow

UP = ("up", "node-1")


def opened(server: Server) -> Readings:
    readings = COLLECTOR.open(Watched(exposed=server.members.exposed))
    assert readings is not None and not isinstance(readings, Missing)
    return readings


def read(readings: Readings) -> Mapping[tuple[str, str], float]:
    return {(reading.metric, reading.instance): reading.value for reading in readings.sample()}


def test_clients_of_all_processes_are_counted(tmp_path: Path) -> None:
    spec = ServerSpec(
        resolve("postgresql@system"), proxy=Wish("haproxy", version="3.0", processes=2)
    )
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        readings = opened(server)
        await_value(readings, ("clients", ""), 0)  # Whoever saw that it is ready has gone.
        before = read(readings)
        target: Any = server.entry.target()
        sessions = [
            client_session({**target, "endpoints": [endpoint]}, LIMIT_S)
            for endpoint in target["endpoints"]
        ]
        for session in sessions:
            session.rows("SELECT 1 AS number")
        after = read(readings)
        for session in sessions:
            session.close()

    assert {metric for metric, _ in after} <= {metric.name for metric in COLLECTOR.metrics}
    assert len(sessions) == 2
    assert after["clients", ""] - before["clients", ""] == 2
    assert after["connections", ""] - before["connections", ""] == 2
    assert (after["up", "one"], after["server_clients", "one"]) == (2, 2)


def test_a_dead_server_is_called_down(tmp_path: Path) -> None:
    wish = Wish("haproxy", version="3.0", settings={"inter": "100", "fall": "1", "rise": "1"})
    spec = ServerSpec(resolve("postgresql@system"), proxy=wish)
    with nothing_left(), open_spec(spec, tmp_path) as server:
        server.start()
        readings = opened(server)
        await_value(readings, UP, 1)
        downs = read(readings)["downs", "node-1"]
        os.kill(server.node.processes()[0], signal.SIGKILL)
        await_value(readings, UP, 0)
        after = read(readings)

    assert after["downs", "node-1"] == downs + 1
    assert after["check_failures", "node-1"] > 0


def test_a_server_without_haproxy_has_nothing_to_read() -> None:
    assert COLLECTOR.open(Watched(kind="postgresql")) is None


def await_value(readings: Readings, metric: tuple[str, str], wanted: float) -> None:
    deadline = time.monotonic() + LIMIT_S
    while read(readings)[metric] != wanted:
        assert time.monotonic() < deadline
        select.select([], [], [], 0.05)
