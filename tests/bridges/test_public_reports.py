"""Texts in the shapes of public reports of the tools' own bugs, with what these say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_sysbench
from reading import rate, result, results

from dbdyno.errors import UsageError

SPLIT = """\
readrandomwriterandom :     20.000 micros/op 40000 ops/sec; ( reads:3000 writes:2999 total:90000)
Microseconds per read:
Count: 120000  Average: 1400.5000  StdDev: 30.00
Min: 2.0000  Median: 480.0000  Max: 20000.0000
Percentiles: P50: 480.00 P75: 830.00 P99: 14000.00 P99.9: 19000.00 P99.99: 19900.00

Microseconds per write:
Count: 80000  Average: 58.0000  StdDev: 81.00
Min: 7.0000  Median: 40.0000  Max: 9000.0000
Percentiles: P50: 40.00 P75: 63.00 P99: 240.00 P99.9: 700.00 P99.99: 1100.00
"""

MEMTIER = """\
{{
\t"configuration":{{
\t\t"server": "db"
\t\t,"cert":{space}
\t\t,"rate_limit": 0
\t\t,"clients": 2
\t\t,"threads": 3
\t\t}}
\t,"ALL STATS":
\t{{
\t\t"Runtime":{{
\t\t\t"Start time": 1700000000000
\t\t\t,"Total duration": 2000
\t\t\t}}
\t\t,"Sets":{{
\t\t\t"Count": 300
\t\t\t,"Ops/sec": 150.0
\t\t\t,"Average Latency": 1.400
\t\t\t}}
\t\t,"Gets":{{
\t\t\t"Count": {gets}
\t\t\t,"Ops/sec": {rate}
\t\t\t,"Average Latency": {mean}
\t\t\t}}
\t\t,"Totals":{{
\t\t\t"Count": {total}
\t\t\t,"Ops/sec": {total_rate}
\t\t\t,"Hits/sec": -nan
\t\t\t,"Average Latency": {total_mean}
\t\t\t,"Max Latency": 7.500
\t\t\t}}
\t\t}}
\t}}
"""


def memtier(*, gets: int = 0, mean: str = "-nan", total_mean: str = "1.400") -> str:
    """As releases up to 2.1 print it: a mean over nothing, a path that is empty."""
    return MEMTIER.format(
        space=" ",
        gets=gets,
        rate=gets / 2,
        mean=mean,
        total=300 + gets,
        total_rate=150 + gets / 2,
        total_mean=total_mean,
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_histograms_of_reads_and_writes_are_counted_together() -> None:
    """As in the change that divided them: reads alone were taken for all that ended."""
    entry = result(SPLIT, clients=8)
    measured = entry.result.outcome
    assert (measured.events, measured.window_s, rate(entry)) == (200_000, 5.0, 40_000)
    assert measured.latency_us == {}
    assert measured.figures == {
        "read_us_mean": 1400.5,
        "read_us_max": 20_000,
        "read_us_p50": 480,
        "read_us_p99": 14_000,
        "read_us_p99.9": 19_000,
        "write_us_mean": 58,
        "write_us_max": 9000,
        "write_us_p50": 40,
        "write_us_p99": 240,
        "write_us_p99.9": 700,
    }
    assert entry.result.unread == ("( reads:3000 writes:2999 total:90000)",)


def test_what_a_mixed_test_did_is_named_as_not_read() -> None:
    """As in proposals for mixgraph; lines begin with a blank as in changes of db_bench."""
    mixed = "mixgraph : 20.0 micros/op 50000 ops/sec 2.0 seconds 100000 operations; 7.0 MB/s"
    plain, other = results(
        f" overwrite : 10.0 micros/op 100000 ops/sec 1.0 seconds 100000 operations; 31.3 MB/s\n"
        f" {mixed} ( Gets:50 Puts:25 Seek:25, reads 75 in 75 found, avg size: 36.0 value)\n",
        clients=1,
    )
    assert (rate(plain), plain.result.unread) == (100_000, ())
    assert other.result.unread == (
        "( Gets:50 Puts:25 Seek:25, reads 75 in 75 found, avg size: 36.0 value)",
    )


def test_sysbench_that_failed_is_told_by_its_own_words() -> None:
    """As in many reports: it was said to have been stopped."""
    started = texts_sysbench.V1_0.partition("Threads started!")[0]
    fatal = f"{started}Threads started!\n\nFATAL: mysql_stmt_execute() returned error 0 ()\n"
    with pytest.raises(UsageError, match=r"printed no figures: FATAL: mysql_stmt_execute\(\)"):
        result(fatal)


def test_memtier_prints_what_is_no_json() -> None:
    """As in the change that mended it: the text was said to have been cut."""
    measured = result(memtier()).result
    assert (measured.outcome.events, measured.outcome.window_s) == (300, 2.0)
    assert measured.outcome.latency_us == {"mean": 1400, "max": 7500}
    assert "gets_per_s" not in measured.outcome.figures


def test_a_mean_that_memtier_cut_is_that_of_its_kinds() -> None:
    """As in the change that mended it: 1.000 stood for 1.55 ms."""
    entry = result(memtier(gets=100, mean="2.000", total_mean="1.000"))
    assert entry.result.outcome.latency_us["mean"] == pytest.approx(1550)
    assert "its mean of 1 ms was cut to whole ones" in " ".join(entry.notes)
    right = result(memtier(gets=100, mean="2.000", total_mean="1.550"))
    assert right.result.outcome.latency_us["mean"] == pytest.approx(1550)
    assert "was cut" not in " ".join(right.notes)


def test_memtier_may_state_a_rate_of_nothing() -> None:
    """As in a report of zeros in all columns but that of times."""
    text = '{"ALL STATS": {"Totals": {"Ops/sec": 0.0, "Latency": 19.5, "KB/sec": 0.0}}}'
    with pytest.raises(UsageError, match="states response times and a rate of 0"):
        result(text, clients=1)


@pytest.mark.parametrize(
    ("kind", "good", "errors", "unknown"),
    [("tpcc", 995.5, 0, True), ("tpcc", 900.0, 1000, False), ("ycsb", 995.0, 50, False)],
)
def test_what_tpcc_has_rolled_back_is_no_error(
    kind: str, good: float, errors: int, unknown: bool
) -> None:
    """As its maintainers answered who asked: each run of TPC-C was left out of verdicts."""
    text = (
        f'{{"Benchmark Type": "{kind}", "Throughput (requests/second)": 1000.0,'
        f' "Goodput (requests/second)": {good}, "Measured Requests": 10000,'
        ' "Elapsed Time (nanoseconds)": 10000000000, "terminals": "4"}'
    )
    measured = result(text).result
    assert (measured.outcome.errors, measured.not_known == ("errors",)) == (errors, unknown)


def test_times_of_hammerdbs_jobs_are_read() -> None:
    """As its scripts print behind a result since 4.6."""
    measured = result(
        "HammerDB CLI v4.6\nVuser 1:Timing test period of 2 in minutes\n"
        "Vuser 1:4 Active Virtual Users configured\n"
        "Vuser 1:TEST RESULT : System achieved 600 NOPM from 1400 Db2 TPM\n"
        'TRANSACTION RESPONSE TIMES\n{\n  "NEWORD": {\n    "elapsed_ms": "120000.0",\n'
        '    "calls": "1200",\n    "min_ms": "1.25",\n    "avg_ms": "4.25",\n'
        '    "max_ms": "126.5",\n    "p99_ms": "14.5",\n    "p95_ms": "7.5",\n'
        '    "p50_ms": "3.5",\n    "ratio_pct": "54.0"\n  }\n}\n'
    ).result
    assert measured.outcome.figures == {
        "transactions_per_s": 1400 / 60,
        "neword_us_mean": 4250,
        "neword_us_max": 126_500,
        "neword_us_p99": 14_500,
        "neword_us_p95": 7500,
        "neword_us_p50": 3500,
    }


def test_operations_of_ycsb_that_all_failed_are_no_text_that_was_cut() -> None:
    """As in YCSB #1077: each read of a cluster returned ERROR."""
    text = (
        "[OVERALL], RunTime(ms), 125000.0\n[OVERALL], Throughput(ops/sec), 8.0\n"
        "[READ], Operations, 0.0\n[READ], AverageLatency(us), NaN\n"
        "[READ], MinLatency(us), 9.223372036854776E18\n[READ], Return=ERROR, 1000\n"
        "[READ-FAILED], Operations, 1000.0\n[READ-FAILED], AverageLatency(us), 1001197.0\n"
    )
    with pytest.raises(UsageError, match="all 1000 operations of YCSB failed"):
        result(text, clients=4)


@pytest.mark.parametrize("rate", ["inf", "nan", "-nan"])
def test_an_infinite_rate_of_redis_is_no_text_that_was_cut(rate: str) -> None:
    """As in redis #2016: a hundred requests within a millisecond."""
    text = (
        "====== SET ======\n  100 requests completed in 0.00 seconds\n  50 parallel clients\n"
        "  3 bytes payload\n  keep alive: 1\n\n100.00% <= 0 milliseconds\n"
        f"{rate} requests per second\n"
    )
    with pytest.raises(UsageError, match="its rate is infinite: the test was too short"):
        result(text)


@pytest.mark.parametrize("words", ["thds: 56 tps:", "threads: 56, tps:"])
def test_lines_over_time_alone_are_sysbenchs_and_no_result(words: str) -> None:
    """As in sysbench-tpcc #48."""
    line = f"[ 93s ] {words} 43.01 qps: 1397.23 (r/w/o: 645.10/662.11/90.01) err/s 1.00\n"
    with pytest.raises(UsageError, match="ends without `General statistics`"):
        result(line * 3)


@pytest.mark.parametrize(("rate", "against"), [(1000, True), (530, False), (500, False)])
def test_a_rate_of_sysbench_that_was_not_reached_is_told_without_lines_over_time(
    rate: int, against: bool
) -> None:
    """As in sysbench #305: 100/s were asked for and 31/s done, and nothing said so."""
    text = texts_sysbench.V1_0.replace(
        "threads: 4\n", f"threads: 4\nTarget transaction rate: {rate}/sec\n"
    )
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("[ ")]
    entry = result("".join(lines))
    asked = f"events ended where its rate asked for some {rate * 4:.0f}"
    assert (asked in " ".join(entry.result.outcome.against)) is against


def test_a_rate_over_time_that_nothing_reaches_is_no_sample() -> None:
    """As in sysbench #14: a counter of 0.5 went below 0."""
    line = "[   1s] threads: 4, tps: 500.00, reads: 7000.00, response time: 9.00ms (95%)"
    text = texts_sysbench.V0_5
    broken = line.replace("500.00", "18446842801212211200.00").replace("   1s", "   9s")
    start = "Threads started!\n"
    entry = result(text.replace(start, f"{start}{line}\n{broken}\n", 1))
    samples = entry.result.outcome.samples
    rates = [sample.value for sample in samples if sample.metric == "events_per_s"]
    assert max(rates) < 1e6
    assert "left out: a line over time with a rate that nothing reaches" in " ".join(entry.notes)
