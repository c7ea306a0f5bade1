"""YCSB, HammerDB and db_bench: each release's units and codes, several results in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_others as texts
from reading import rate, result, results

from dbdyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_operation_of_three_steps_is_one_event() -> None:
    entry = result(texts.YCSB_F)
    measured = entry.result.outcome
    assert (measured.events, rate(entry), entry.result.stated_per_s) == (10_000, 1000.0, 1000.0)
    assert measured.latency_us == {"mean": 2000.0, "max": 19_000.0}
    assert measured.figures["read_modify_write_us_p99"] == 9000
    assert measured.figures["intended_read_us_p99"] == 7000
    assert "intended_read_per_s" not in measured.figures
    assert (entry.notes, entry.result.arrival) == ((), "closed")


def test_nothing_but_operations_of_three_steps_have_their_own_times() -> None:
    text = texts.YCSB_F.replace("[READ], Operations, 10000", "[READ], Operations, 5000")
    measured = result(text.replace("sec), 1000.0", "sec), 500.0")).result.outcome
    assert (measured.events, measured.latency_us["p99"]) == (5000, 9000)


@pytest.mark.parametrize("array", [False, True])
def test_json_says_the_same_as_text(array: bool) -> None:
    text, measured = result(texts.YCSB_F), result(texts.ycsb_json(texts.YCSB_F, array=array))
    assert measured.result == text.result


def test_the_first_release_has_milliseconds_and_numbers_for_outcomes() -> None:
    entry = result(texts.YCSB_0_1)
    measured = entry.result.outcome
    assert (entry.result.version, entry.clients, measured.events, measured.errors) == (
        "0.1",
        2,
        1000,
        4,
    )
    assert rate(entry) == entry.result.stated_per_s == 12_500
    assert measured.latency_us["max"] == 19_345
    assert measured.figures["update_us_mean"] == pytest.approx(66)
    assert measured.figures["update_us_p99"] == 1000
    assert "read_us_p99" not in measured.figures
    assert [sample.value for sample in measured.samples] == [100.5]
    assert "whole milliseconds" in measured.warnings[0]
    assert entry.result.unread[0] == "[UPDATE], 0, … (a histogram or a series)"


def test_a_throughput_that_is_not_the_one_stated_is_told() -> None:
    text = texts.YCSB_F.replace("Throughput(ops/sec), 1000.0", "Throughput(ops/sec), 1200.0")
    assert "the text states 1,200/s, and 1,000/s is imported" in result(text).notes[0]


def test_a_target_is_an_open_load() -> None:
    measured = result(texts.YCSB_F.replace("-threads 8", "-threads 8 -target 500")).result
    assert (measured.arrival, measured.options["target_per_s"]) == ("open", 500)
    bare = texts.YCSB_F.partition("[OVERALL]")
    entry = result(bare[1] + bare[2], clients=8)
    assert entry.result.arrival == "unknown"
    assert "YCSB Client VERSION, Command line" in entry.notes[0]


def test_a_load_and_its_runs_are_cells() -> None:
    load = texts.YCSB_F.replace("-t\n", "-load\n")
    other = texts.YCSB_F.replace("workloadf", "workloada")
    matched = results(load + texts.YCSB_F + other)
    assert [entry.cell for entry in matched] == ["load+workloadf", "workloadf", "workloada"]
    cut = texts.YCSB_F.partition("[OVERALL]")[0].replace("-t\n", "-t\nStarting test.\n")
    matched = results(load + cut)
    assert "not imported: a.txt:29: the text ends without `[OVERALL]" in " ".join(matched[0].notes)


@pytest.mark.parametrize("version", ["3.3", "4.12", "5.0"])
def test_a_sequence_of_hammerdb_is_steps(version: str) -> None:
    matched = results(texts.hammerdb(version))
    assert [(entry.cell, entry.clients) for entry in matched] == [("hammerdb", 1), ("hammerdb", 2)]
    assert [entry.result.outcome.events for entry in matched] == [71_152, 120_728]
    assert [rate(entry) * 60 for entry in matched] == pytest.approx([35_576, 60_364])
    for entry in matched:
        assert (entry.result.version, entry.result.arrival) == (version, "closed")
        assert entry.result.options == {
            "duration_s": 120,
            "server": "PostgreSQL",
            "warehouses": 400,
            "ramp_up_s": 60,
        }
        assert entry.notes == ()


def test_pauses_of_hammerdb_are_no_closed_loop() -> None:
    text = texts.hammerdb("4.12").replace("from true to false", "from false to true")
    assert {entry.result.arrival for entry in results(text)} == {"open"}
    text = texts.hammerdb("4.12").replace("keyandthink", "driver")
    assert {entry.result.arrival for entry in results(text)} == {"unknown"}


def test_users_that_failed_keep_a_result_out_of_verdicts() -> None:
    text = texts.hammerdb("4.12") + "Vuser 3:FINISHED FAILED\n"
    first, second = results(text)
    assert first.result.outcome.against == ()
    assert second.result.outcome.against == ("1 virtual user failed before the end",)


@pytest.mark.parametrize("version", ["7.8.3", "9.10.0", "9.11.2"])
def test_a_list_of_db_bench_is_a_cell_each(version: str) -> None:
    matched = results(texts.db_bench(version), clients=2)
    assert [entry.cell for entry in matched] == ["fillseq", "readrandom"]
    assert [rate(entry) for entry in matched] == pytest.approx([10_000, 97_816])
    fill, read = (entry.result for entry in matched)
    assert (fill.outcome.events, fill.outcome.latency_us["p99.9"]) == (40_000, 2988.24)
    assert (read.outcome.events, read.outcome.latency_us) == (99_998, {})
    assert read.outcome.figures == {"found_share": 0.75}
    assert (read.version, read.options["entries"], read.arrival) == (version, 20_000, "closed")
    assert "not there: histogram (--histogram)" in matched[1].notes[0]
    assert (fill.unread, read.unread) == ((), ())


@pytest.mark.parametrize("version", ["5.14", "6.11"])
def test_old_releases_do_not_count(version: str) -> None:
    text = texts.db_bench(version)
    (fill,) = results(text, clients=2)
    assert (fill.cell, fill.result.outcome.events) == ("db_bench", 40_000)
    assert "not imported: a.txt:27: db_bench does not say how many events of readr" in fill.notes[0]
    _, read = results(text, clients=2, events=20_000)
    assert read.result.outcome.events == 20_000
    assert rate(read) == pytest.approx(97_816)
    with pytest.raises(UsageError, match="does not say how many events of fillseq") as caught:
        result(text.partition("Microseconds")[0])
    assert "--events" in str(caught.value.hint)


def test_a_limit_of_db_bench_is_an_open_load() -> None:
    for entry in results(texts.db_bench("9.11.2", limit=1_000_000), clients=2):
        assert entry.result.arrival == "open"
        assert entry.result.options["write_bytes_per_s_limit"] == 1_000_000


def test_repeats_of_a_list_are_blocks() -> None:
    text = texts.db_bench("9.11.2").partition("STATISTICS")[0]
    read = text.partition("readrandom")[2]
    matched = results(f"{text}readrandom{read}", clients=1)
    assert [entry.cell for entry in matched] == ["fillseq", "readrandom", "readrandom"]
