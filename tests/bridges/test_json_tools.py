"""fio, BenchBase, memtier_benchmark and redis-benchmark: what their fields mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import texts_json as texts
from reading import rate, result, results

from dbdyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("version", ["3.1", "3.25", "3.41"])
def test_fio_3(version: str) -> None:
    entry = result(texts.fio(texts.job(), version=version))
    measured = entry.result
    assert (entry.clients, measured.version, measured.arrival) == (1, version, "closed")
    assert (measured.outcome.events, rate(entry), measured.stated_per_s) == (60_000, 6000.0, 6000.0)
    times = {"p50": 150, "p95": 250, "p99": 400, "p99.9": 900, "max": 5000, "mean": 160}
    assert measured.outcome.latency_us == times
    assert entry.notes == ()


@pytest.mark.parametrize("version", ["2.1.11", "2.2.10", "2.6"])
def test_fio_2_has_other_units_and_no_options(version: str) -> None:
    entry = result(texts.fio_2(version, "a"), clients=4)
    measured = entry.result
    assert (measured.outcome.events, rate(entry), measured.arrival) == (60_000, 6000.0, "unknown")
    assert measured.outcome.latency_us == {"p50": 150, "p99": 400, "max": 5000, "mean": 160}
    assert measured.outcome.figures["read_bytes_per_s"] == 24_000 * 1024
    assert measured.absent[0] == "job options"
    assert ("total_ios" in measured.absent) == (version == "2.1.11")
    with pytest.raises(UsageError, match="does not say how many clients"):
        result(texts.fio_2(version, "a"))


def test_a_job_that_ended_with_an_error_is_no_result_to_judge_by() -> None:
    measured = result(texts.fio(texts.job(error=5))).result.outcome
    assert measured.against == ("job `mix` ended with error 5 (EIO: Input/output error)",)
    assert measured.errors == 0
    counted = result(texts.fio(texts.job(total_err=7, first_error=5))).result.outcome
    assert counted.errors == 7
    with pytest.raises(UsageError, match="no read and no write of fio ended: job `mix` ended with"):
        result(texts.fio(texts.job(error=22, read=texts.way(0))))


def test_zeros_of_times_that_were_not_taken_are_none() -> None:
    entry = result(texts.fio(texts.job(read=texts.way(60_000, **texts.WITHOUT_TIMES))))
    assert entry.result.outcome.latency_us == {}
    assert not any("_us_" in name for name in entry.result.outcome.figures)
    assert "fio took no response times (gtod_reduce, disable_clat)" in entry.notes


def test_total_times_are_told_as_such() -> None:
    entry = result(texts.fio(texts.job(read=texts.way(60_000, **texts.TOTAL_TIMES))))
    assert entry.result.outcome.latency_us["p99"] == 400
    assert entry.result.outcome.latency_us["max"] == 5050
    assert "total ones (lat" in entry.notes[0]


def test_reads_and_writes_together() -> None:
    job = texts.job(mixed=texts.way(90_000))
    alone = {name: value for name, value in job.items() if name not in ("read", "write", "trim")}
    entry = result(texts.fio(alone))
    assert (entry.result.outcome.events, rate(entry)) == (90_000, 9000.0)
    assert entry.result.outcome.latency_us["p99"] == 400
    assert "unified_rw_reporting" in entry.notes[0]
    both = result(texts.fio(job))
    assert both.result.outcome.events == 60_000


def test_several_machines_are_told_by_their_sum() -> None:
    report = json.loads(texts.fio_2("2.6", "a"))
    (only,) = report.pop("jobs")
    machines = [{**only, "jobname": "a", "hostname": "x"}, {**only, "jobname": "All clients"}]
    entry = result(json.dumps({**report, "client_stats": machines}), clients=2)
    assert (entry.result.script, entry.result.outcome.events) == ("All clients", 60_000)


def test_trims_and_dropped_operations() -> None:
    measured = result(texts.fio(texts.job(read=texts.way(0), trim=texts.way(600)))).result.outcome
    assert (measured.events, measured.figures["trim_iops"]) == (600, 60.0)
    dropped = result(texts.fio(texts.job(read=texts.way(60_000, drop_ios=3))))
    assert "fio dropped 3 reads" in dropped.notes[0]


@pytest.mark.parametrize("option", ["rate_iops", "rate", "thinktime"])
def test_a_rate_of_fio_is_no_closed_loop(option: str) -> None:
    assert result(texts.fio(texts.job(), **{option: "100"})).result.arrival == "open"
    assert result(texts.fio(texts.job(), **{option: "0"})).result.arrival == "closed"


def jobs(**changed: Any) -> list[dict[str, Any]]:
    return [
        texts.job("a", groupid=0, **changed),
        texts.job("b", groupid=1, **changed),
    ]


def test_jobs_one_after_another_are_results_of_their_own() -> None:
    waiting = {"job options": {"rw": "randread", "stonewall": ""}}
    for text in (
        texts.fio(*jobs(**waiting)),
        texts.fio(*jobs(elapsed=22)),
        texts.fio(
            texts.job("a", job_start=1_700_000_000_000),
            texts.job("b", groupid=1, job_start=1_700_000_010_100),
        ),
    ):
        matched = results(text)
        assert [entry.cell for entry in matched] == ["a", "b"]
        assert [rate(entry) for entry in matched] == [6000.0, 6000.0]
    assert [entry.cell for entry in results(texts.fio_2("2.1.11", "a", "b"), clients=1)] == [
        "a",
        "b",
    ]


def test_groups_at_the_same_time_are_one_result() -> None:
    for text in (
        texts.fio(*jobs(elapsed=11)),
        texts.fio(
            texts.job("a", job_start=1_700_000_000_000),
            texts.job("b", groupid=1, job_start=1_700_000_000_100),
        ),
    ):
        entry = result(text)
        assert (entry.result.script, entry.clients, rate(entry)) == ("a+b", 2, 12_000.0)


def test_several_documents_and_one_that_was_cut() -> None:
    text = texts.fio(texts.job())
    other = texts.fio(texts.job(), numjobs="4")
    matched = results(f"fio: warning\n{text}\n{other}\n{text[:-40]}")
    assert [(entry.cell, entry.clients) for entry in matched] == [("fio", 1), ("fio", 4)]
    assert "fio's JSON ends or breaks here" in " ".join(matched[0].notes)


def test_benchbase() -> None:
    entry = result(json.dumps(texts.BENCHBASE, indent=1))
    measured = entry.result
    assert (entry.bridge.tool, entry.clients, measured.script) == ("benchbase", 4, "tpcc")
    assert (measured.outcome.events, measured.outcome.errors) == (20_100, 0)
    assert rate(entry) == pytest.approx(334.9995356515603)
    assert measured.outcome.latency_us == {
        "p50": 1066,
        "p95": 2176,
        "p99": 3827,
        "max": 8337,
        "mean": 1185,
    }
    assert measured.outcome.figures["event_us_p90"] == 2085
    assert measured.options["isolation"] == "TRANSACTION_SERIALIZABLE"
    assert measured.outcome.ended_unix_ns == 1_731_548_847_872 * 10**6
    assert (entry.notes, measured.arrival) == ((), "unknown")


def test_requests_of_benchbase_that_were_not_good_are_errors() -> None:
    entry = result(json.dumps({**texts.BENCHBASE, "Goodput (requests/second)": 330.0}))
    assert entry.result.outcome.errors == 300
    assert "1.49 % of its requests were not good (goodput 330/s)" in entry.notes[0]


def test_the_first_summaries_count_nothing() -> None:
    text = json.dumps(texts.OLTPBENCH)
    with pytest.raises(UsageError, match="does not say how many events of tpcc"):
        result(text)
    entry = result(text, events=20_100)
    assert rate(entry) == pytest.approx(334.9995356515603)
    assert entry.result.absent == ("measured requests", "elapsed time (nanoseconds)", "final state")


@pytest.mark.parametrize(
    ("changed", "printed"),
    [
        ({"Throughput (requests/second)": 0.0}, "no request of BenchBase ended"),
        ({"terminals": "many"}, "a summary of BenchBase that holds no"),
        ({"Throughput (requests/second)": 200.0}, "200"),
    ],
)
def test_strange_summaries(changed: dict[str, Any], printed: str) -> None:
    try:
        measured = str(rate(result(json.dumps({**texts.BENCHBASE, **changed}))))
    except UsageError as error:
        measured = error.message
    assert printed in measured


def test_several_summaries_are_several_results() -> None:
    other = {**texts.BENCHBASE, "terminals": "8"}
    text = json.dumps(texts.BENCHBASE, indent=1) + "\n" + json.dumps(other, indent=1)
    assert [entry.clients for entry in results(text)] == [4, 8]
    matched = results(text + "\n" + json.dumps({**texts.BENCHBASE, "Benchmark Type": "ycsb"}))
    assert [entry.cell for entry in matched] == ["tpcc", "tpcc", "ycsb"]


def test_memtier() -> None:
    entry = result(json.dumps(texts.MEMTIER, indent=1))
    measured = entry.result
    assert (entry.bridge.tool, entry.clients, measured.script) == ("memtier", 200, "ratio 1:1")
    assert (measured.outcome.events, rate(entry), measured.arrival) == (60_000, 2000.0, "closed")
    assert measured.outcome.latency_us == {
        "mean": 1300,
        "max": 13_200,
        "p50": 1400,
        "p99": 2900,
        "p99.9": 4500,
    }
    assert measured.outcome.figures["miss_share"] == 0.25
    assert measured.outcome.figures["gets_us_p99"] == 2900
    assert not any(name.startswith("waits") for name in measured.outcome.figures)
    assert [sample.value for sample in measured.outcome.samples] == [1900, 2100]
    assert (measured.options["duration_s"], measured.options["pipeline"]) == (30, 1)
    assert entry.notes == ()


def test_a_rate_or_an_interruption_of_memtier() -> None:
    asked = dict(texts.MEMTIER_HEAD["configuration"], rate_limit=10)
    measured = result(json.dumps({**texts.MEMTIER, "configuration": asked})).result
    assert (measured.arrival, measured.options["rate_per_s"]) == ("open", 2000)
    stopped = {**texts.MEMTIER, "benchmark_completion": {"full_run": False}}
    assert result(json.dumps(stopped)).result.outcome.against == ("the run was interrupted",)


def test_an_interrupted_run_may_tell_no_rate() -> None:
    """As `1.json` in its repository: rates of zero, a length below zero."""
    totals = {**texts.MEMTIER_STATS["Totals"], "Ops/sec": 0.0}
    runtime = {**texts.MEMTIER_STATS["Runtime"], "Total duration": -1_723_541_682_634}
    stats = {**texts.MEMTIER_STATS, "Totals": totals, "Runtime": runtime}
    completion = {"full_run": False, "actual_duration_ms": 30_000}
    text = {**texts.MEMTIER, "ALL STATS": stats, "benchmark_completion": completion}
    entry = result(json.dumps(text))
    assert (rate(entry), entry.result.stated_per_s) == (2000.0, None)


def test_without_counts_memtier_did_what_it_was_asked_for() -> None:
    entry = result(json.dumps(texts.MEMTIER_RATES_ALONE, indent=1))
    assert (entry.clients, entry.result.outcome.events, rate(entry)) == (200, 2_000_000, 100_000.0)
    assert entry.result.outcome.latency_us == {"mean": 2000}
    assert entry.result.arrival == "unknown"
    assert entry.result.absent == ("Count", "Percentile Latencies", "Runtime")


def test_several_runs_of_memtier() -> None:
    member = {f"RUN #{n} RESULTS": texts.MEMTIER_STATS for n in (1, 2)}
    average = {"AGGREGATED AVERAGE RESULTS (2 runs)": texts.MEMTIER_STATS}
    matched = results(json.dumps({**texts.MEMTIER_HEAD, **member, **average}))
    assert [entry.cell for entry in matched] == ["memtier", "memtier"]
    entry = result(json.dumps({**texts.MEMTIER_HEAD, **average}))
    assert "it tells the average of 2 runs" in entry.notes[0]


def test_tables_of_redis() -> None:
    old = results(texts.REDIS_CSV_6_0, clients=20, events=20_000)
    assert [entry.cell for entry in old] == ["SET", "GET", "MSET-10-keys"]
    assert [rate(entry) for entry in old] == pytest.approx([2406.16, 2700.15, 2413.71])
    assert old[0].result.absent == ("latencies",)
    new = results(texts.REDIS_CSV_7_0, clients=20, events=20_000)
    assert new[1].result.outcome.latency_us == {
        "mean": 7637,
        "p50": 4687,
        "p95": 24_047,
        "p99": 35_071,
        "max": 47_039,
    }
    assert [entry.line for entry in new] == [2, 3]
    quiet = results(texts.REDIS_QUIET, clients=20, events=20_000)
    assert [rate(entry) for entry in quiet] == pytest.approx([50_000, 877.24])
    with pytest.raises(UsageError, match=r"a\.txt:2: redis-benchmark does not say how many"):
        results(texts.REDIS_CSV_7_0, clients=20)


@pytest.mark.parametrize("text", [texts.REDIS_6_0, texts.REDIS_7_0])
def test_texts_of_redis(text: str) -> None:
    matched = results("".join(text.format(name=name, kept=1) for name in ("SET", "GET")))
    assert [(entry.cell, entry.clients) for entry in matched] == [("SET", 20), ("GET", 20)]
    assert [rate(entry) for entry in matched] == [10_000.0, 10_000.0]
    measured = matched[0].result
    assert (measured.outcome.events, measured.options["data_size"], measured.arrival) == (
        20_000,
        3,
        "closed",
    )
    assert bool(measured.outcome.latency_us) == (text is texts.REDIS_7_0)
    assert measured.unread == (() if measured.outcome.latency_us else ("… % <= … milliseconds",))
    again = results(text.format(name="SET", kept=0))
    assert again[0].result.options["reconnect"] == "each request"
