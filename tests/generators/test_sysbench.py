"""sysbench: options checked, what it prints understood, a real server loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs import STEP

from dbdyno.errors import EngineError, UsageError
from dbdyno.generators.sysbench import GENERATOR, connection
from dbdyno.generators.sysbench_text import latencies, outcome
from dbdyno.model import Option
from dbdyno.servers import open_server, open_tool

SAID = """\
[ 1s ] thds: 2 tps: 15.96 qps: 177.54 (r/w/o: 100.00/50.00/27.54) lat (ms,95%): 158.63 err/s: 0.00
[ 2s ] thds: 2 tps: 20.00 qps: 200.00 (r/w/o: 100.00/50.00/50.00) lat (ms,95%): 100.00 err/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.500 |*****                                    50
       2.000 |****************************************  45
      90.000 |*                                        5

SQL statistics:
    transactions:                        100    (49.5 per sec.)
    queries:                             1600   (792. per sec.)
    ignored errors:                      3      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0183s
    total number of events:              100

Latency (ms):
         min:                                    1.40
         avg:                                    6.25
         max:                                   91.50
         95th percentile:                        2.00
"""
UNIX = {"endpoints": [{"unix": "/s/.s.PGSQL.5432"}], "user": "u", "database": "d"}
TCP = {
    "endpoints": [{"tcp": {"host": "h", "port": 1}}],
    "user": "u",
    "password": "p",
    "database": "d",
}


def test_what_it_prints_is_understood() -> None:
    told = outcome(SAID, 10**18, ["sysbench"])

    assert (told.events, told.statements, told.errors, told.window_s) == (100, 1600, 3, 2.0183)
    assert (told.latency_us["mean"], told.latency_us["max"]) == (6250, 91_500)
    assert [(s.unix_ns - 10**18, s.metric, s.value) for s in told.samples] == [
        (10**9, "events_per_s", 15.96),
        (10**9, "latency_p95_ms", 158.63),
        (2 * 10**9, "events_per_s", 20.0),
        (2 * 10**9, "latency_p95_ms", 100.0),
    ]


def test_percentiles_are_those_of_its_histogram() -> None:
    assert latencies(SAID) == {"p50": 1500, "p95": 2000, "p99": 90_000, "p99.9": 90_000}


def test_no_summary_is_an_error() -> None:
    with pytest.raises(EngineError, match="no summary"):
        outcome("", 0, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "expected `script`"),
        ({"script": "oltp_read_only", "threads": 2}, "`threads` is set by dbdyno itself"),
        ({"script": "oltp_read_only", "mysql-host": "h"}, "`mysql-host` is set by dbdyno itself"),
        ({"script": "oltp_read_only", "prepare": "no"}, "true or false"),
    ],
)
def test_wrong_options_are_told(options: Mapping[str, Option], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GENERATOR.read(options)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"driver": "postgresql", **UNIX}, {"--pgsql-host=/s", "--pgsql-port=5432"}),
        ({"driver": "mysql", **UNIX}, {"--mysql-socket=/s/.s.PGSQL.5432"}),
        (
            {"driver": "mysql", **TCP, "compression": "zlib"},
            {"--mysql-host=h", "--mysql-port=1", "--mysql-password=p", "--mysql-compression=on"},
        ),
    ],
)
def test_it_is_told_where_the_server_is(target: Mapping[str, Any], words: set[str]) -> None:
    assert words < set(connection(target))


@pytest.mark.parametrize(
    "target", [{"driver": "sqlite"}, {"driver": "mysql", **TCP, "tls": {"mode": "require"}}]
)
def test_what_it_can_not_load_is_told(target: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        connection(target)


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["mariadb@system", "postgresql@system"])
def test_a_real_server_is_loaded(provision: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with open_server(provision, {}, tmp_path / "logs") as server:
        server.start()
        job = replace(
            STEP,
            program=open_tool(str(GENERATOR.provision({}))).path,
            options={"script": "oltp_read_only", "tables": 1, "table_size": 100},
            target=server.entry.target,
            scratch=scratch,
        )
        told = GENERATOR.run(job)
        tables = list(server.database.tables())

    assert tables == ["sbtest1"]
    assert told.statements == 16 * told.events > 0
    assert 0 < told.latency_us["p50"] <= told.latency_us["p99"] <= 1.02 * told.latency_us["max"]
    assert sum(count for _, count in told.distribution) == told.events
    assert not any("password" in word for word in told.command_line)
