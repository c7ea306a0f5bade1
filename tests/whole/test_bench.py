"""`dbdyno bench` on a server that somebody runs: the figures a program reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from product import dbdyno, url

from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

OPTIONS = ("--option", "tables=2", "--option", "table_size=1000")
LOAD = ("--clients", "4", "--warm-up", "500ms", "--time", "2s", "--interval", "500ms")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with open_server("postgresql:18.0.0@maven", {}, folder) as server:
        server.start()
        yield server


def bench(server: Server, script: str, *arguments: str, folder: Path) -> Any:
    address = url(server.target())
    told = dbdyno(
        "bench", address, "--script", script, *OPTIONS, *LOAD, *arguments, "--json", folder=folder
    )
    assert told.code == 0, told.err
    return json.loads(told.out)


def test_a_closed_loop_has_every_figure(server: Server, tmp_path: Path) -> None:
    told = bench(server, "oltp_read_write", "--prepare", "--cleanup", folder=tmp_path)

    for name in (
        "statements",
        "statements_per_s",
        "events_per_s",
        "client_cpu_us_per_statement",
        "client_rss_kb",
    ):
        assert told[name] > 0 and math.isfinite(told[name]), name
    assert told["errors"] >= 0
    latency = [told["latency_us"][name] for name in ("p50", "p95", "p99", "p99.9", "max")]
    assert all(map(math.isfinite, latency))
    assert 0 < latency[0] <= latency[1] <= latency[2] <= latency[3] <= latency[4]
    assert told["statements"] == pytest.approx(20 * told["events"], rel=0.02)
    assert told["statements_per_s"] == pytest.approx(told["statements"] / told["window_s"])
