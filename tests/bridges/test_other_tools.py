"""YCSB, HammerDB, db_bench and fio: recognised and read, or refused with the place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from outputs import (
    DB_BENCH_9,
    HAMMERDB_3,
    HAMMERDB_4,
    HAMMERDB_PROFILE,
    YCSB_0_17,
    sysbench,
)

from dbdyno.bridges.registry import bridges
from dbdyno.bridges.sources import Source, read_sources
from dbdyno.cli import call
from dbdyno.cli.importing import TOOLS
from dbdyno.errors import UsageError
from dbdyno.servers import open_tool

REPORT = "secs_elapsed,interval_qps\n1,500\n2,700\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file(name: str, content: str) -> str:
    Path(name).write_text(content)
    return name


def read(named: str, *, clients: int | None = None) -> Source:
    (entry,) = read_sources([named], tool=None, clients=clients)
    return entry


def test_the_command_knows_the_tools_there_are() -> None:
    assert set(TOOLS) == bridges().keys()


def test_ycsb() -> None:
    entry = read(file("y.txt", YCSB_0_17))
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("ycsb", 2, "0.17.0")
    assert entry.result.script == "workloada"
    assert entry.result.options == {"db": "BasicDB", "target_per_s": 8000}
    assert (measured.events, measured.window_s, measured.errors) == (10_000, 2.5, 3)
    assert measured.latency_us == {"mean": pytest.approx(125.5), "max": 2947}
    assert measured.figures["read_us_p99"] == 300
    assert measured.figures["update_per_s"] == 1000
    assert [(s.unix_ns, s.value) for s in measured.samples] == [(10**9, 7371.0)]


def test_one_kind_of_operation_of_ycsb_has_percentiles() -> None:
    entry = read(file("y.txt", YCSB_0_17.partition("[UPDATE]")[0]))
    assert entry.result.outcome.latency_us == {"mean": 100.5, "max": 900, "p95": 200, "p99": 300}


@pytest.mark.parametrize("text", [HAMMERDB_3, HAMMERDB_4])
def test_hammerdb(text: str) -> None:
    entry = read(file("h.txt", text))
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("hammerdb", 100, "4.7")
    assert (measured.events, measured.window_s) == (2891 * 5, 300)
    assert measured.figures == {"transactions_per_s": 6888 / 60}
    assert entry.result.options == {
        "duration_s": 300,
        "server": "PostgreSQL",
        "warehouses": 400,
        "ramp_up_s": 120,
    }
    assert "errors" in entry.result.not_known


def test_a_time_profile_of_hammerdb_belongs_to_its_run() -> None:
    entry = read(f"{file('h.txt', HAMMERDB_4)}+{file('p.log', HAMMERDB_PROFILE)}")
    figures = entry.result.outcome.figures
    assert (figures["neword_us_p99"], figures["neword_us_mean"]) == (80_250, 36_332)


def test_users_of_hammerdb_that_failed_are_told() -> None:
    entry = read(file("h.txt", HAMMERDB_4 + "Vuser 7:FINISHED FAILED\n"))
    assert "1 virtual user failed" in entry.result.outcome.warnings[0]


def test_db_bench() -> None:
    entry = read(f"{file('d.txt', DB_BENCH_9)}+{file('r.csv', REPORT)}", clients=4)
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("db_bench", 4, "9.10.0")
    assert entry.result.script == "fillrandom"
    assert entry.result.options == {"keys": 16, "values": 100, "entries": 20_000}
    assert (measured.events, measured.latency_us["p99"]) == (20_000, 17.71)
    assert measured.events / measured.window_s == pytest.approx(189_641)
    assert [sample.value for sample in measured.samples] == [500, 700]
    assert "assertions are enabled" in measured.warnings[0]


FIO = {
    "fio version": "fio-3.33",
    "timestamp_ms": 1_700_000_000_000,
    "global options": {"bs": "4k", "rw": "randread", "numjobs": "2"},
    "jobs": [
        {
            "jobname": "w",
            "error": 0,
            "job_runtime": 2000,
            "job options": {},
            "read": {
                "runtime": 2000,
                "total_ios": 100,
                "iops": 50.0,
                "bw_bytes": 204_800,
                "clat_ns": {"max": 9000, "mean": 5000.0, "percentile": {"99.000000": 8000}},
            },
            "write": {"runtime": 0, "total_ios": 0, "iops": 0.0, "bw_bytes": 0},
            "sync": {"total_ios": 0},
        }
    ],
}


def test_fio() -> None:
    entry = read(file("f.json", "note: something\n" + json.dumps(FIO)))
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("fio", 2, "3.33")
    assert (entry.result.script, entry.result.options) == ("w", {"rw": "randread", "bs": "4k"})
    assert (measured.events, measured.window_s, measured.figures["read_iops"]) == (100, 2.0, 50.0)
    assert measured.latency_us == {"p99": 8.0, "max": 9.0, "mean": 5.0}
    assert measured.ended_unix_ns == 1_700_000_000 * 10**9


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        (YCSB_0_17.partition("[OVERALL]")[0], "a:4: the text ends without `[OVERALL]"),
        (YCSB_0_17.partition("[READ]")[0], "without operations that ended"),
        (YCSB_0_17.replace("-threads 2", ""), "does not say how many clients"),
        (HAMMERDB_4.partition("Vuser 1:100")[0], "a:6: the text ends without `TEST RESULT"),
        (HAMMERDB_4.replace("Timing test", "Test"), "without `Timing test period"),
        (HAMMERDB_4.replace("2891", "0"), "a:8: HammerDB counted no new orders"),
        (DB_BENCH_9.partition("fillrandom")[0], "a:5: the text ends without a line"),
        (REPORT, "is a report over time"),
        (json.dumps(FIO, indent=1)[:-40], "fio's JSON ends or breaks here"),
        (json.dumps({**FIO, "jobs": [{}]}), "fio's JSON has no"),
        ("fio-3.33\nStarting 2 processes\n", "a:1: is fio's text for people"),
        (sysbench() + HAMMERDB_4, "a:1: could be of"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_place(content: str, printed: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(file("a", content))
    assert printed in caught.value.message


@pytest.mark.slow
def test_what_fio_prints_here(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--name=w", "--filename=data", "--size=1m", "--bs=4k", "--rw=randrw", "--time_based"]
    asked += ["--runtime=1", "--numjobs=2", "--output-format=json"]
    for out, grouped in (("one", ["--group_reporting"]), ("each", [])):
        words = [str(open_tool("tool:fio").path), *asked, *grouped, f"--output={out}.json"]
        subprocess.run(words, check=True, capture_output=True)
    grouped_, apart = read("one.json"), read("each.json")
    assert grouped_.clients == apart.clients == 2
    assert grouped_.result.options == apart.result.options
    assert grouped_.result.options["duration_s"] == 1
    assert "read_iops.w" in grouped_.result.outcome.figures
    assert "read_iops.w" not in apart.result.outcome.figures
    assert call(["import", "a=one.json", "b=each.json", "--as", "disk", "--store", "s"]) == 0
    compared = ["compare", "disk/a", "disk/b", "--store", "s", "--metric", "read_iops"]
    assert call([*compared, "--assume-alike"]) == 0
    assert "2 clients: B against A" in capsys.readouterr().out


@pytest.mark.slow
def test_what_db_bench_prints_here(here: Path) -> None:
    words = [str(open_tool("tool:rocksdb-tools").path), f"--db={here / 'rocks'}", "--num=20000"]
    words += ["--benchmarks=fillrandom", "--histogram=1", "--threads=2"]
    with Path("d.txt").open("w") as out:
        subprocess.run(words, check=True, stdout=out, stderr=subprocess.STDOUT)
    entry = read("d.txt", clients=2)
    assert (entry.result.script, entry.result.outcome.events) == ("fillrandom", 40_000)
    assert entry.result.outcome.latency_us["p99"] > 0
    assert entry.result.options["entries"] == 20_000
