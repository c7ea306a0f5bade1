"""`dbdyno bench` on a server that somebody runs: the figures a program reads."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from product import dbdyno, url

from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
OPTIONS = ("--option", "tables=2", "--option", "table_size=1000")
CLIENTS = 4
LOAD = ("--clients", str(CLIENTS), "--warm-up", "500ms", "--time", "2s", "--interval", "500ms")


ASKING = """
function thread_init()
  print(sysbench.sql.driver():connect():query_row("SELECT sqlite_version()"))
end
function event() end
"""

BITS = """
question = "Is a flipped bit noticed?"
primary = { metric = "silently_wrong_share", better = "lower", smallest_effect = "10 %" }
[server.sqlite]
provision = "sqlite"
[workload]
generator = "damage"
options = { rows = 200 }
[load]
clients = 1
events = 1
[design]
blocks = 1
"""


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


def test_a_setting_of_sessions_is_compared_in_turns_with_none(
    server: Server, tmp_path: Path
) -> None:
    address = url(server.entry.target())
    call = ("bench", address, "--script", "oltp_point_select", *OPTIONS, "--time", "4s")
    sides = ("--with", "enable_indexscan=off", "--with", "enable_bitmapscan=off", "--repeat", "2")
    told = dbdyno(*call, *sides, "--prepare", "--cleanup", "--json", folder=tmp_path)

    assert told.code == 0, told.err
    document = json.loads(told.out)
    asked = "enable_indexscan=off+enable_bitmapscan=off"
    assert {side: len(runs) for side, runs in document["sides"].items()} == {"as-is": 2, asked: 2}
    # Reading 1,000 rows instead of one is beyond what any neighbour does to a machine.
    slow, fast = (document["sides"][side][0]["service_us"] for side in (asked, "as-is"))
    assert slow["p50"] > fast["p50"]
    with psycopg.connect(address) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename ~ '^sbtest'")
        assert tables.fetchone() == (0,), "dropped after the last block"
    page = dbdyno("report", document["kept"], folder=tmp_path)
    assert (page.code, "enable_indexscan = off" in (tmp_path / page.out.strip()).read_text()) == (
        0,
        True,
    )


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("shared_buffers=1GB", "`shared_buffers` is set when the server starts"),
        ("fsync=off", "`fsync` is one of the whole server"),
        ("wrk_mem=1MB", "the server has no setting `wrk_mem`"),
        ("work_mem=lots", "invalid value for parameter"),
    ],
)
def test_a_setting_that_sessions_can_not_have_is_refused_at_once(
    server: Server, tmp_path: Path, setting: str, why: str
) -> None:
    call = ("bench", url(server.entry.target()), "--script", "oltp_point_select")
    told = dbdyno(*call, "--with", setting, folder=tmp_path)

    assert told.code == 4
    assert why in told.one_error()
    assert not list(tmp_path.glob("results/bench-*"))


def test_two_databases_are_compared_and_tables_made_on_both(tmp_path: Path) -> None:
    call = ("bench", f"sqlite:{tmp_path}/new.db?journal_mode=wal", "--script", "tpcb_like")
    sides = ("--against", f"sqlite:{tmp_path}/old.db", "--repeat", "1", "--prepare")
    told = dbdyno(*call, *sides, "--time", "4s", folder=tmp_path)

    assert told.code == 0, told.err
    names = [line.split()[0] for line in told.out.splitlines()]
    assert (len(names), names[2:]) == (4, ["answer", "report"])
    assert "old.db" in names[0] and "new.db" in names[1]


def test_the_page_names_the_version_of_the_engine_s_own_sqlite(tmp_path: Path) -> None:
    script = tmp_path / "version.lua"
    script.write_text(ASKING)
    call = ("bench", f"sqlite:{tmp_path}/a.db", "--script", script, "--events", "1")
    done = dbdyno(*call, "--no-pictures", folder=tmp_path)

    (version,) = re.findall(r"^3\.\d+\.\d+$", done.out + done.err, re.MULTILINE)
    (page,) = tmp_path.glob("results/*/report.html")
    assert f"SQLite {version}" in page.read_text("utf-8")


def test_the_page_names_the_sqlite_that_trials_of_the_lab_read_with(tmp_path: Path) -> None:
    (tmp_path / "bits.toml").write_text(BITS)
    done = dbdyno("run", "bits.toml", "--no-pictures", folder=tmp_path)
    assert done.code == 0, done.err

    page = (tmp_path / "results" / "bits" / "report.html").read_text("utf-8")
    assert f"SQLite {sqlite3.sqlite_version}" in page


def test_repeats_of_a_bench_are_what_a_verdict_needs(tmp_path: Path) -> None:
    call = ("bench", f"sqlite:{tmp_path}/a.db", "--script", "tpcb_like", "--time", "500ms")
    kept = []
    for more in (("--prepare",), ("--seed", "2")):
        told = dbdyno(*call, "--repeat", "3", *more, "--json", folder=tmp_path)
        assert told.code == 0, told.err
        kept.append(json.loads(told.out)["kept"])
    judged = dbdyno("compare", *kept, "--json", folder=tmp_path)
    ((judgement,),) = (json.loads(judged.out)["judged"],)
    assert judgement["ratio_95"] is not None

    once = dbdyno(*call, "--json", folder=tmp_path)
    told = dbdyno("compare", kept[0], json.loads(once.out)["kept"], folder=tmp_path)
    assert "`dbdyno bench … --repeat 5`" in told.err
