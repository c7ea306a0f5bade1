"""Execution latency: what a statement waits for before the server begins it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.execution_latency import COLLECTOR
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Wish
from traces import LIMIT_S

pytestmark = pytest.mark.slow

STOPPED_S = 1.0
AT_LEAST_MS = 200.0
"""A stopped server begins nothing; how much of the stop a statement meets is up to the machine."""


def opened(server: Server, kind: str) -> Readings | Missing | None:
    return COLLECTOR.open(
        Watched(
            kind=kind,
            server_pids=server.node.processes,
            as_client=lambda: client_session(server.entry.target(), LIMIT_S),
        )
    )


def read(readings: Readings) -> Mapping[str, float]:
    return {reading.metric: reading.value for reading in readings.sample()}


def wait_for_statements(readings: Readings, count: float) -> Mapping[str, float]:
    """Samples until that many statements were answered since the first."""
    deadline = time.monotonic() + LIMIT_S
    since = read(readings)["statements"]
    while True:
        select.select([], [], [], 0.2)
        sample = read(readings)
        if sample["statements"] >= since + count and "median_ms" in sample:
            return sample
        assert time.monotonic() < deadline, "no statement is answered"


@pytest.mark.parametrize("provision", ["postgresql@system", "mariadb@system"])
@pytest.mark.parametrize("proxy", [None, Wish("haproxy")])
def test_a_statement_of_a_stopped_server_waits_for_its_start(
    provision: str, proxy: Wish | None, tmp_path: Path
) -> None:
    with open_server(provision, {}, tmp_path, proxy=proxy) as server:
        server.start()
        readings = opened(server, provision.partition("@")[0])
        assert readings is not None and not isinstance(readings, Missing)
        try:
            usual = wait_for_statements(readings, 5)
            pids = server.node.processes()
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            select.select([], [], [], STOPPED_S)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            stopped = wait_for_statements(readings, 1)
        finally:
            readings.close()

    assert 0 <= usual["median_ms"] <= usual["longest_ms"]
    assert AT_LEAST_MS < stopped["longest_ms"] < LIMIT_S * 1e3


def test_a_server_on_another_machine_is_not_asked() -> None:
    missing = COLLECTOR.open(Watched(kind="postgresql"))

    assert isinstance(missing, Missing)
    assert "another machine" in missing.what
