"""`dbdyno bench` on a server that somebody runs: the figures a program reads."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from product import dbdyno, url

from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
OPTIONS = ("--option", "tables=2", "--option", "table_size=1000")
CLIENTS = 4
LOAD = ("--clients", str(CLIENTS), "--warm-up", "500ms", "--time", "2s", "--interval", "500ms")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with open_server("postgresql:18.0.0@maven", {}, folder) as server:
        server.start()
        yield server


def bench(server: Server, script: str, *arguments: str, folder: Path) -> Any:
    address = url(server.entry.target())
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
    # Events are counted when they end: of each client's a part may lie on either side of an edge.
    parts = 20 * (CLIENTS + told["errors"])
    assert told["statements"] == pytest.approx(20 * told["events"], abs=parts)
    assert told["statements_per_s"] == pytest.approx(told["statements"] / told["window_s"])
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        assert told["scheduling"] == "batch", "unless somebody chose otherwise"
    by_counter = CLOCK_SOURCE.is_file() and CLOCK_SOURCE.read_text().strip() == "tsc"
    assert told["clock"] == ("processor" if by_counter else "kernel")


def test_clients_that_end_by_themselves_are_counted(server: Server, tmp_path: Path) -> None:
    (tmp_path / "thrice.lua").write_text(
        "local connection, done = nil, 0\n"
        "function thread_init() connection = sysbench.sql.driver():connect() end\n"
        "function event()\n"
        "  if done == 3 then return true end\n"
        "  connection:query('SELECT 1')\n"
        "  done = done + 1\n"
        "end\n"
    )
    call = ("bench", url(server.entry.target()), "--script", "thrice.lua", "--clients", "4")
    told = dbdyno(*call, "--time", "1h", "--discard", "--json", folder=tmp_path)

    assert told.code == 0, told.err
    figures = json.loads(told.out)
    assert (figures["clients"], figures["events"]) == (4, 12)


def test_an_open_loop_tells_wait_service_and_response_apart(server: Server, tmp_path: Path) -> None:
    pace = ("--rate", "200", "--arrival", "poisson", "--processes", "2", "--scheduling", "inherit")
    told = bench(server, "oltp_point_select", "--prepare", *pace, "--cleanup", folder=tmp_path)

    due = 200 * told["window_s"]
    waiting = CLIENTS + told["backlog_highest"]
    assert told["events"] == pytest.approx(due, abs=5 * math.sqrt(due) + waiting)
    assert told["backlog"] <= told["backlog_highest"]
    for times in ("wait_us", "service_us", "latency_us"):
        assert 0 < told[times]["p50"] <= told[times]["max"], times
    assert told["latency_us"]["mean"] == pytest.approx(
        told["wait_us"]["mean"] + told["service_us"]["mean"], rel=0.01
    )
    assert told["shards"] == CLIENTS, "so few clients have a shard each"
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        assert told["scheduling"] == "other", "the kernel's own, as we have it"


def test_more_than_the_server_can_do_is_backlog_not_silence(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "slow.lua"
    script.write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end\n"
        'function event() con:query("SELECT pg_sleep(0.1)") end\n'
    )
    address = url(server.entry.target())
    told = dbdyno(
        "bench", address, "--script", script, *LOAD, "--rate", "100", "--json", folder=tmp_path
    )
    assert told.code == 0, told.err
    figures = json.loads(told.out)

    # 4 clients do 40 of 100 events a second at most: after 2.5 s some 150 wait, and those that had
    # their turn last waited for 1.5 s. A slow machine adds to all of these.
    assert figures["backlog"] >= 140
    assert figures["backlog"] + figures["total_events"] == pytest.approx(250, abs=2 * CLIENTS)
    assert figures["service_us"]["p50"] > 99_000
    assert figures["wait_us"]["max"] > 1_300_000
    assert figures["latency_us"]["p99"] > 1_300_000
    assert figures["backlog"] <= figures["censored"] <= figures["backlog"] + CLIENTS
    assert figures["p99_us_at_most"] is None, "most of the slowest had not ended"
