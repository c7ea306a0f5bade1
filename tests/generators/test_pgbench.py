"""pgbench: options checked, what it prints understood, a real server loaded."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.errors import EngineError, UsageError
from dbdyno.generators.pgbench import (
    GENERATOR,
    connection,
    distribution_of,
    figures_of,
    times,
)
from dbdyno.generators.pgbench_text import outcome
from dbdyno.servers import open_server, open_tool

SAID = """\
transaction type: <builtin: select only>
number of clients: 4
duration: 2 s
number of transactions actually processed: 60000
number of failed transactions: 3 (0.005%)
latency average = 0.133 ms
initial connection time = 7.123 ms
tps = 30000.000000 (without initial connection time)
"""
OLD_SAID = """\
number of transactions actually processed: 500
tps = 240.000000 (including connections establishing)
tps = 250.000000 (excluding connections establishing)
"""
PROGRESS = """\
pgbench (15.18)
progress: 1700000001.250 s, 29000.5 tps, lat 0.137 ms stddev 0.050, 0 failed
progress: 1700000002.250 s, 0.0 tps, lat NaN ms stddev NaN, 0 failed
"""


def test_summary_and_progress_are_understood() -> None:
    told = outcome(SAID, PROGRESS, {"p50": 130.0}, ["pgbench"])

    assert (told.events, told.errors, told.window_s) == (60_000, 3, 2.0)
    assert [(s.unix_ns, s.metric, s.value) for s in told.samples] == [
        (1_700_000_001_250_000_000, "transactions_per_s", 29_000.5),
        (1_700_000_001_250_000_000, "latency_mean_ms", 0.137),
        (1_700_000_002_250_000_000, "transactions_per_s", 0.0),
    ]


def test_old_releases_count_without_connecting() -> None:
    assert outcome(OLD_SAID, "", {}, []).window_s == 2.0


def test_no_summary_is_an_error() -> None:
    with pytest.raises(EngineError, match="no summary"):
        outcome("", "", {}, [])


def test_response_times_are_those_of_every_transaction_that_ended(tmp_path: Path) -> None:
    rows = [f"0 {n} {n} 0 1700000000 5" for n in range(1, 101)]
    (tmp_path / "a").write_text("\n".join(rows[:50]))
    (tmp_path / "b").write_text("\n".join([*rows[50:], "1 101 failed 0 1700000000 5"]))

    found = times([tmp_path / "a", tmp_path / "b"])

    wanted = {"p50": 50, "p95": 95, "p99": 99, "p99.9": 100, "max": 100, "mean": 50.5}
    assert figures_of(found) == wanted
    assert distribution_of(found) == tuple((1000 * us, 1) for us in range(1, 101))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "expected `script`"),
        ({"script": "select-only", "file": "x.sql"}, "one of them"),
        ({"script": "tpcc"}, "tpcb-like"),
        ({"script": "select-only", "scale": 0}, "from 1"),
        ({"script": "select-only", "protocol": "binary"}, "prepared"),
        ({"script": "select-only", "rate": 1}, "`rate`"),
    ],
)
def test_wrong_options_are_told(options: dict[str, str | int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GENERATOR.read(options)


def test_another_kind_of_server_is_refused() -> None:
    with pytest.raises(UsageError, match="can't load mysql"):
        connection({"driver": "mysql", "endpoints": []})


@pytest.mark.slow
def test_a_real_server_is_loaded_and_counts_the_same(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path / "run") as server:
        server.start()
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        job = replace(
            STEP,
            program=open_tool(str(GENERATOR.provision({}))).path,
            options={"script": "tpcb-like", "scale": 1},
            measure_s=3.0,
            target=server.entry.target,
            scratch=scratch,
        )
        told = GENERATOR.run(job)
        environment = dict(connection(server.entry.target()))
        rows = subprocess.run(
            [job.program.with_name("psql"), "-Atc", "SELECT COUNT(*) FROM pgbench_history"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert int(rows) == told.events > 0
    assert 0 < told.latency_us["p50"] <= told.latency_us["p99"] <= told.latency_us["max"]
    assert sum(count for _, count in told.distribution) == told.events
    assert {sample.metric for sample in told.samples} == {"transactions_per_s", "latency_mean_ms"}
    assert not list(scratch.glob("transactions.*"))
