"""Execution latency: what a statement waits for before the server begins it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
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


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # Workers of PostgreSQL end by themselves.
            os.kill(pid, number)


def sample_where(readings: Readings, metric: str, least: float) -> Mapping[str, float]:
    """The first sample that has at least so much of a metric."""
    deadline = time.monotonic() + LIMIT_S
    while (sample := read(readings)).get(metric, -1.0) < least:
        assert time.monotonic() < deadline, sample
        select.select([], [], [], 0.2)
    return sample


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
            sample_where(readings, "statements", 5)
            usual = sample_where(readings, "median_ms", 0)
            pids = server.node.processes()
            signal_all(pids, signal.SIGSTOP)
            select.select([], [], [], STOPPED_S)
            signal_all(pids, signal.SIGCONT)
            stopped = sample_where(readings, "longest_ms", AT_LEAST_MS)
        finally:
            readings.close()

    assert 0 <= usual["median_ms"] <= usual["longest_ms"]
    assert stopped["longest_ms"] < LIMIT_S * 1e3


def test_a_server_on_another_machine_is_not_asked() -> None:
    missing = COLLECTOR.open(Watched(kind="postgresql"))

    assert isinstance(missing, Missing)
    assert "another machine" in missing.what
