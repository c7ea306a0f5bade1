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
    one = result(texts.fio(texts.job(), version=version))
    told = one.result
    assert (one.clients, told.version, told.arrival) == (1, version, "closed")
    assert (told.outcome.events, rate(one), told.stated_per_s) == (60_000, 6000.0, 6000.0)
    times = {"p50": 150, "p95": 250, "p99": 400, "p99.9": 900, "max": 5000, "mean": 160}
    assert told.outcome.latency_us == times
    assert one.notes == ()


@pytest.mark.parametrize("version", ["2.1.11", "2.2.10", "2.6"])
def test_fio_2_has_other_units_and_no_options(version: str) -> None:
    one = result(texts.fio_2(version, "a"), clients=4)
    told = one.result
    assert (told.outcome.events, rate(one), told.arrival) == (60_000, 6000.0, "unknown")
    assert told.outcome.latency_us == {"p50": 150, "p99": 400, "max": 5000, "mean": 160}
    assert told.outcome.figures["read_bytes_per_s"] == 24_000 * 1024
    assert told.absent[0] == "job options"
    assert ("total_ios" in told.absent) == (version == "2.1.11")
    with pytest.raises(UsageError, match="does not say how many clients"):
        result(texts.fio_2(version, "a"))


def test_a_job_that_ended_with_an_error_is_no_result_to_judge_by() -> None:
    told = result(texts.fio(texts.job(error=5))).result.outcome
    assert told.against == ("job `mix` ended with error 5 (EIO: Input/output error)",)
    assert told.errors == 0
    counted = result(texts.fio(texts.job(total_err=7, first_error=5))).result.outcome
    assert counted.errors == 7
    with pytest.raises(UsageError, match="no read and no write of fio ended: job `mix` ended with"):
        result(texts.fio(texts.job(error=22, read=texts.way(0))))


def test_zeros_of_times_that_were_not_taken_are_none() -> None:
    one = result(texts.fio(texts.job(read=texts.way(60_000, **texts.WITHOUT_TIMES))))
    assert one.result.outcome.latency_us == {}
    assert not any("_us_" in name for name in one.result.outcome.figures)
    assert "fio took no response times (gtod_reduce, disable_clat)" in one.notes


def test_total_times_are_told_as_such() -> None:
    one = result(texts.fio(texts.job(read=texts.way(60_000, **texts.TOTAL_TIMES))))
    assert one.result.outcome.latency_us["p99"] == 400
    assert one.result.outcome.latency_us["max"] == 5050
    assert "total ones (lat" in one.notes[0]


def test_reads_and_writes_together() -> None:
    job = texts.job(mixed=texts.way(90_000))
    alone = {name: value for name, value in job.items() if name not in ("read", "write", "trim")}
    one = result(texts.fio(alone))
    assert (one.result.outcome.events, rate(one)) == (90_000, 9000.0)
    assert one.result.outcome.latency_us["p99"] == 400
    assert "unified_rw_reporting" in one.notes[0]
    both = result(texts.fio(job))
    assert both.result.outcome.events == 60_000


def test_several_machines_are_told_by_their_sum() -> None:
    report = json.loads(texts.fio_2("2.6", "a"))
    (only,) = report.pop("jobs")
    machines = [{**only, "jobname": "a", "hostname": "x"}, {**only, "jobname": "All clients"}]
    one = result(json.dumps({**report, "client_stats": machines}), clients=2)
    assert (one.result.script, one.result.outcome.events) == ("All clients", 60_000)


def test_trims_and_dropped_operations() -> None:
    told = result(texts.fio(texts.job(read=texts.way(0), trim=texts.way(600)))).result.outcome
    assert (told.events, told.figures["trim_iops"]) == (600, 60.0)
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
        found = results(text)
        assert [one.cell for one in found] == ["a", "b"]
        assert [rate(one) for one in found] == [6000.0, 6000.0]
    assert [one.cell for one in results(texts.fio_2("2.1.11", "a", "b"), clients=1)] == ["a", "b"]


def test_groups_at_the_same_time_are_one_result() -> None:
    for text in (
        texts.fio(*jobs(elapsed=11)),
        texts.fio(
            texts.job("a", job_start=1_700_000_000_000),
            texts.job("b", groupid=1, job_start=1_700_000_000_100),
        ),
    ):
        one = result(text)
        assert (one.result.script, one.clients, rate(one)) == ("a+b", 2, 12_000.0)


def test_several_documents_and_one_that_was_cut() -> None:
    text = texts.fio(texts.job())
    other = texts.fio(texts.job(), numjobs="4")
    found = results(f"fio: warning\n{text}\n{other}\n{text[:-40]}")
    assert [(one.cell, one.clients) for one in found] == [("fio", 1), ("fio", 4)]
    assert "fio's JSON ends or breaks here" in " ".join(found[0].notes)


def test_benchbase() -> None:
    one = result(json.dumps(texts.BENCHBASE, indent=1))
    told = one.result
    assert (one.bridge.tool, one.clients, told.script) == ("benchbase", 4, "tpcc")
    assert (told.outcome.events, told.outcome.errors) == (20_100, 0)
    assert rate(one) == pytest.approx(334.9995356515603)
    assert told.outcome.latency_us == {
        "p50": 1066,
        "p95": 2176,
        "p99": 3827,
        "max": 8337,
        "mean": 1185,
    }
    assert told.outcome.figures["event_us_p90"] == 2085
    assert told.options["isolation"] == "TRANSACTION_SERIALIZABLE"
    assert told.outcome.ended_unix_ns == 1_731_548_847_872 * 10**6
    assert (one.notes, told.arrival) == ((), "unknown")


def test_requests_of_benchbase_that_were_not_good_are_errors() -> None:
    one = result(json.dumps({**texts.BENCHBASE, "Goodput (requests/second)": 330.0}))
    assert one.result.outcome.errors == 300
    assert "1.49 % of its requests were not good (goodput 330/s)" in one.notes[0]


def test_the_first_summaries_count_nothing() -> None:
    text = json.dumps(texts.OLTPBENCH)
    with pytest.raises(UsageError, match="does not say how many events of tpcc"):
        result(text)
    one = result(text, events=20_100)
    assert rate(one) == pytest.approx(334.9995356515603)
    assert one.result.absent == ("measured requests", "elapsed time (nanoseconds)", "final state")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"Throughput (requests/second)": 0.0}, "no request of BenchBase ended"),
        ({"terminals": "many"}, "a summary of BenchBase that holds no"),
        ({"Throughput (requests/second)": 200.0}, "200"),
    ],
)
def test_strange_summaries(changed: dict[str, Any], said: str) -> None:
    try:
        told = str(rate(result(json.dumps({**texts.BENCHBASE, **changed}))))
    except UsageError as error:
        told = error.message
    assert said in told


def test_several_summaries_are_several_results() -> None:
    other = {**texts.BENCHBASE, "terminals": "8"}
    text = json.dumps(texts.BENCHBASE, indent=1) + "\n" + json.dumps(other, indent=1)
    assert [one.clients for one in results(text)] == [4, 8]
    found = results(text + "\n" + json.dumps({**texts.BENCHBASE, "Benchmark Type": "ycsb"}))
    assert [one.cell for one in found] == ["tpcc", "tpcc", "ycsb"]


def test_memtier() -> None:
    one = result(json.dumps(texts.MEMTIER, indent=1))
    told = one.result
    assert (one.bridge.tool, one.clients, told.script) == ("memtier", 200, "ratio 1:1")
    assert (told.outcome.events, rate(one), told.arrival) == (60_000, 2000.0, "closed")
    assert told.outcome.latency_us == {
        "mean": 1300,
        "max": 13_200,
        "p50": 1400,
        "p99": 2900,
        "p99.9": 4500,
    }
    assert told.outcome.figures["miss_share"] == 0.25
    assert told.outcome.figures["gets_us_p99"] == 2900
    assert not any(name.startswith("waits") for name in told.outcome.figures)
    assert [sample.value for sample in told.outcome.samples] == [1900, 2100]
    assert (told.options["duration_s"], told.options["pipeline"]) == (30, 1)
    assert one.notes == ()


def test_a_rate_or_an_interruption_of_memtier() -> None:
    asked = dict(texts.MEMTIER_HEAD["configuration"], rate_limit=10)
    told = result(json.dumps({**texts.MEMTIER, "configuration": asked})).result
    assert (told.arrival, told.options["rate_per_s"]) == ("open", 2000)
    stopped = {**texts.MEMTIER, "benchmark_completion": {"full_run": False}}
    assert result(json.dumps(stopped)).result.outcome.against == ("the run was interrupted",)


def test_an_interrupted_run_may_tell_no_rate() -> None:
    """As `1.json` in its repository: rates of zero, a length below zero."""
    totals = {**texts.MEMTIER_STATS["Totals"], "Ops/sec": 0.0}
    runtime = {**texts.MEMTIER_STATS["Runtime"], "Total duration": -1_723_541_682_634}
    stats = {**texts.MEMTIER_STATS, "Totals": totals, "Runtime": runtime}
    completion = {"full_run": False, "actual_duration_ms": 30_000}
    text = {**texts.MEMTIER, "ALL STATS": stats, "benchmark_completion": completion}
    one = result(json.dumps(text))
    assert (rate(one), one.result.stated_per_s) == (2000.0, None)


def test_early_memtier_counts_what_was_asked_for() -> None:
    one = result(json.dumps(texts.MEMTIER_1_2, indent=1))
    assert (one.clients, one.result.outcome.events, rate(one)) == (200, 2_000_000, 100_000.0)
    assert one.result.outcome.latency_us == {"mean": 2000}
    assert one.result.arrival == "unknown"
    assert one.result.absent == ("Count", "Percentile Latencies", "Runtime")


def test_several_runs_of_memtier() -> None:
    each = {f"RUN #{n} RESULTS": texts.MEMTIER_STATS for n in (1, 2)}
    average = {"AGGREGATED AVERAGE RESULTS (2 runs)": texts.MEMTIER_STATS}
    found = results(json.dumps({**texts.MEMTIER_HEAD, **each, **average}))
    assert [one.cell for one in found] == ["memtier", "memtier"]
    one = result(json.dumps({**texts.MEMTIER_HEAD, **average}))
    assert "it tells the average of 2 runs" in one.notes[0]


def test_tables_of_redis() -> None:
    old = results(texts.REDIS_CSV_6_0, clients=20, events=20_000)
    assert [one.cell for one in old] == ["SET", "GET", "MSET-10-keys"]
    assert [rate(one) for one in old] == pytest.approx([2406.16, 2700.15, 2413.71])
    assert old[0].result.absent == ("latencies",)
    new = results(texts.REDIS_CSV_7_0, clients=20, events=20_000)
    assert new[1].result.outcome.latency_us == {
        "mean": 7637,
        "p50": 4687,
        "p95": 24_047,
        "p99": 35_071,
        "max": 47_039,
    }
    assert [one.line for one in new] == [2, 3]
    quiet = results(texts.REDIS_QUIET, clients=20, events=20_000)
    assert [rate(one) for one in quiet] == pytest.approx([50_000, 877.24])
    with pytest.raises(UsageError, match=r"a\.txt:2: redis-benchmark does not say how many"):
        results(texts.REDIS_CSV_7_0, clients=20)


@pytest.mark.parametrize("text", [texts.REDIS_6_0, texts.REDIS_7_0])
def test_texts_of_redis(text: str) -> None:
    found = results("".join(text.format(name=name, kept=1) for name in ("SET", "GET")))
    assert [(one.cell, one.clients) for one in found] == [("SET", 20), ("GET", 20)]
    assert [rate(one) for one in found] == [10_000.0, 10_000.0]
    told = found[0].result
    assert (told.outcome.events, told.options["data_size"], told.arrival) == (20_000, 3, "closed")
    assert bool(told.outcome.latency_us) == (text is texts.REDIS_7_0)
    assert told.unread == (() if told.outcome.latency_us else ("… % <= … milliseconds",))
    again = results(text.format(name="SET", kept=0))
    assert again[0].result.options["reconnect"] == "each request"
