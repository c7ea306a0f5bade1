"""Texts as public pages and repositories have them: figures, what is missing, true reasons."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_public as texts
from reading import rate, result, results

from dbdyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pgbench_copied_without_its_first_lines_is_recognised() -> None:
    """As in public notes on -r."""
    entry = result(texts.PGBENCH_NO_HEAD)
    assert (entry.bridge.tool, entry.clients, rate(entry)) == ("pgbench", 6, 500.0)
    assert (entry.result.absent, entry.result.arrival) == (("transaction type",), "unknown")
    entry = result(texts.PGBENCH_FIGURES_ALONE, clients=9)
    assert (entry.result.outcome.events, rate(entry)) == (9000, 300.0)
    assert "number of clients" in entry.result.absent


def test_pgbench_with_and_without_first_lines_in_a_file_are_results_each() -> None:
    """As in public solutions of a course, whose lines end with blanks."""
    both = texts.PGBENCH_FIGURES_ALONE + "\n### Harder ###\n" + texts.PGBENCH_HEADED
    blanks = both.replace("\n", "  \n")
    first, second = results(blanks, clients=5)
    assert (rate(first), first.result.script) == (300.0, "")
    assert (rate(second), second.result.version) == (100.0, "14.9")
    twice = results(texts.PGBENCH_NO_HEAD * 2)
    assert [entry.result.outcome.events for entry in twice] == [300, 300]


def test_a_rate_without_connecting_that_no_time_passed_at_is_not_taken() -> None:
    """As in public notes on `pgbench -C` of 9.4."""
    entry = result(texts.PGBENCH_CONNECTING)
    measured = entry.result.outcome
    assert (rate(entry), measured.window_s) == (400.0, 20.0)
    assert entry.result.stated_per_s == 400.0
    assert "without the time to connect it states 160000/s" in " ".join(entry.notes)
    short = texts.PGBENCH_CONNECTING.replace("160000.0", "410.0")
    assert rate(result(short)) == 410.0


def test_scripts_are_told_apart_where_their_lines_lost_blanks() -> None:
    """As in public guides in reStructuredText: such results were repeats of one another."""
    several = texts.PGBENCH_HEADED.replace("<builtin: TPC-B (sort of)>", "multiple scripts") + (
        "SQL script 1: <builtin: select only>\n- weight: 3 (targets 75.0% of total)\n"
        "- 1500 transactions (75.0% of total, tps = 75.0)\n- latency average = 9.0 ms\n"
        "SQL script 2: a.sql\n- weight: 1 (targets 25.0% of total)\n"
    )
    measured = result(several).result
    assert measured.script == "select only@3+a.sql@1"
    assert measured.outcome.latency_us == {"mean": 50_000}


def test_fewer_transactions_than_asked_for_are_told() -> None:
    """As in public reports of bugs: up to release 10 the summary says no more than this."""
    entry = result(texts.PGBENCH_FEWER.format(done=700))
    assert entry.result.outcome.against == (
        "300 of 1000 transactions were not processed: clients ended early",
    )
    assert result(texts.PGBENCH_FEWER.format(done=1000)).result.outcome.against == ()


def test_results_in_markdown_are_results_each() -> None:
    """As in public pull requests of drivers: failed operations are in the throughput it states."""
    first, second = results(texts.YCSB_INDENTED, clients=8)
    assert (first.result.outcome.events, first.result.outcome.errors) == (4900, 100)
    assert "the text states 500/s, and 490/s is imported" in " ".join(first.notes)
    assert (rate(second), second.line) == (1000.0, 18)


def test_a_whole_text_of_ycsb_without_operations_was_not_cut() -> None:
    """As in public reports of a driver that failed to start."""
    nothing = "[OVERALL], RunTime(ms), 170\n[OVERALL], Throughput(ops/sec), 0.0\n"
    with pytest.raises(UsageError, match="no operation of YCSB ended"):
        result(nothing, clients=1)
    with pytest.raises(UsageError, match="the text was cut"):
        result(nothing.replace(" 0.0", " 50.0"), clients=1)


def test_read_modify_writes_whose_reads_failed_are_not_told_apart() -> None:
    """As in public lessons on a store that lacked half of the rows."""
    lines = ["[OVERALL], RunTime(ms), 1000", "[OVERALL], Throughput(ops/sec), 100.0"]
    for kind, number, us in (
        ("READ", 50, 100),
        ("UPDATE", 40, 200),
        ("READ-MODIFY-WRITE", 40, 300),
    ):
        lines += [f"[{kind}], Operations, {number}", f"[{kind}], AverageLatency(us), {us}.0"]
        lines += [f"[{kind}], MaxLatency(us), 900"]
    whole = "\n".join(lines) + "\n"
    entry = result(f"{whole}[READ], Return=NOT_FOUND, 50\n", clients=2)
    assert (entry.result.outcome.events, entry.result.outcome.errors) == (50, 50)
    assert "how many of its read-modify-writes failed is not known" in " ".join(entry.notes)
    assert "is not known" not in " ".join(result(whole, clients=2).notes)


def test_status_lines_of_ycsb_may_have_a_comma() -> None:
    """As in public logs from countries where numbers have one."""
    status = "2020-01-10 16:21:40:213 10 sec: 15451 operations; 1545,1 current ops/sec; est\n"
    entry = result(f"{status}{texts.YCSB_INDENTED.partition('## target 1000')[0]}", clients=8)
    assert [sample.value for sample in entry.result.outcome.samples] == [1545.1]


def test_a_job_of_hammerdbs_web_service() -> None:
    """As its documentation shows it: words in quotes, and a server that counts nothing."""
    measured = result(texts.HAMMERDB_JOB).result
    assert (measured.outcome.events, measured.outcome.window_s) == (12_000, 120.0)
    assert measured.outcome.figures == {}
    assert measured.outcome.against == ("1 virtual user failed before the end",)
    assert "Vuser 1:FINISHED" not in measured.absent


def test_goodput_above_the_throughput_tells_no_errors() -> None:
    """As in public results of two benchmarks at once."""
    text = (
        '{"Benchmark Type": "tpcc,chbenchmark", "Throughput (requests/second)": 200.0,'
        ' "Goodput (requests/second)": 210.0, "Measured Requests": 2000}'
    )
    entry = result(text, clients=4)
    assert entry.result.not_known == ("errors",)
    assert "its goodput 210/s is above its throughput 200/s" in " ".join(entry.notes)


def test_a_histogram_of_db_bench_without_percentiles_has_its_mean() -> None:
    """As in public results of stores that took over an early db_bench."""
    text = (
        "fillseq      :     500.000 micros/op 2000 ops/sec;    0.2 MB/s\n"
        "Microseconds per op:\nCount: 1000  Average: 500.0000  StdDev: 20.50\n"
        "Min: 300.0000  Median: 490.5000  Max: 3500.0000\n"
    )
    measured = result(text, clients=1).result
    assert measured.outcome.latency_us == {"mean": 500, "max": 3500}
    assert measured.absent[-1] == "Percentiles"


def test_calls_of_redis_say_how_their_lines_were_measured() -> None:
    """As in public lessons: pipelined ones were repeats of the others."""
    plain, pipelined = results(texts.REDIS_CALLS)
    assert (plain.result.script, plain.clients, rate(plain)) == ("SET", 10, 10_000.0)
    assert plain.cell != pipelined.cell
    assert plain.result.outcome.events == 20_000
    assert plain.result.not_known == ("errors", "pipeline")
    assert pipelined.result.options == {"pipeline": 8, "data_size": 64}
    assert (pipelined.result.not_known, rate(pipelined)) == (("errors",), 50_000.0)
    with pytest.raises(UsageError, match="says 10 clients; --clients says 3"):
        results(texts.REDIS_CALLS, clients=3)


@pytest.mark.parametrize(("what", "text"), texts.FIO_TEXTS.items())
def test_other_outputs_of_fio_are_refused_as_such(what: str, text: str) -> None:
    """As in public mails, posts and logs of CIs."""
    with pytest.raises(UsageError, match=f"is fio's {what.partition(' of ')[0]}") as refused:
        result(text)
    assert refused.value.hint == "run fio with --output-format=json"


def test_parts_of_fios_json_are_said_to_be_parts() -> None:
    """As in the documentation of a collector: it was said to have run no job."""
    text = '"fio version" : "fio-3.28",\n"global options" : {\n  "rw" : "write"\n},\n"sync" : {}\n'
    with pytest.raises(UsageError, match="parts of fio's JSON and no whole of it"):
        result(text)


def test_text_of_memtier_is_refused_as_such() -> None:
    """As in public results of stores that speak memcached's protocol."""
    with pytest.raises(UsageError, match="is memtier_benchmark's text for people") as refused:
        result(texts.MEMTIER_TEXT)
    assert refused.value.hint == "run memtier_benchmark with --json-out-file"
