"""pgbench 9.4 to 18: each release's words, and what they say against the figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_pgbench as texts
from reading import rate, result, results

from dbdyno.bridges.keep import keep
from dbdyno.bridges.sources import read_sources
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.answer.limits import limits
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.store import Store


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version", "clients", "events", "per_s", "mean_us", "arrival"),
    [
        (texts.V9_4, "", 8, 48_000, 800.0, 10_000.0, "closed"),
        (texts.V9_5_RATE, "", 4, 900, 90.0, 9000.0, "open"),
        (texts.V9_6, "", 8, 48_000, 800.0, 10_000.0, "closed"),
        (texts.V12_STATEMENTS, "", 8, 48_000, 800.0, 10_000.0, "closed"),
        (texts.V13_CONNECTING, "", 2, 86, 164.728921, 23_666.0, "closed"),
        (texts.V14, "14.20", 8, 48_000, 800.0, 10_000.0, "closed"),
        (texts.V15_CONNECTING, "15.18", 8, 48_000, 800.0, 10_000.0, "closed"),
        (texts.V15_RETRIES, "15.18", 4, 126, 126.0, 13_441.0, "closed"),
        (texts.V16_RATE, "16.3", 8, 30_000, 500.0, 40_000.0, "open"),
        (texts.V17_SCRIPTS, "17.12", 2, 200, 2123.525477, 942.0, "closed"),
        (texts.V18, "18.6", 2, 4003, 4003.0, 483.0, "closed"),
    ],
)
def test_each_release(
    text: str,
    version: str,
    clients: int,
    events: int,
    per_s: float,
    mean_us: float,
    arrival: str,
) -> None:
    entry = result(text)
    measured = entry.result
    assert (entry.bridge.tool, measured.version, entry.clients) == ("pgbench", version, clients)
    assert (measured.outcome.events, measured.arrival) == (events, arrival)
    assert rate(entry) == pytest.approx(per_s)
    assert measured.stated_per_s == pytest.approx(per_s)
    assert measured.outcome.latency_us["mean"] == mean_us
    assert measured.absent == ()


def test_what_else_it_says_is_kept() -> None:
    figures = result(texts.V16_RATE).result.outcome.figures
    assert figures == {
        "connecting_us": 8000.0,
        "lag_us_mean": 31_000.0,
        "lag_us_max": 250_000.0,
        "skipped_share": 0.375,
        "late_share": 0.3,
    }
    old = result(texts.V9_5_RATE).result.outcome.figures
    assert (old["late_share"], old["skipped_share"]) == (0.05, 0.1)
    retries = result(texts.V15_RETRIES).result
    assert retries.outcome.figures["retries_per_s"] == 252
    assert retries.outcome.figures["retried_share"] == pytest.approx(227 / 289)
    assert (retries.outcome.errors, retries.options["max_tries"]) == (163, "2")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (texts.V16_RATE, "18000 transactions were skipped, as too late (37.5 % of those due)"),
        (texts.V9_5_RATE, "100 transactions were skipped, as too late (10 % of those due)"),
        (texts.V13_ABORTED, "2 clients ended early, with an error"),
        (
            texts.V16_RATE.replace("skipped: 18000", "skipped: 2").replace("avg 31", "avg 9000"),
            "on average 4500 transactions were due and not yet begun",
        ),
    ],
)
def test_what_it_says_against_itself_is_a_fault(text: str, printed: str) -> None:
    entry = result(text)
    assert entry.result.outcome.against == (printed,)
    assert f"left out of verdicts: {printed}" in entry.notes


def test_few_skipped_transactions_are_a_figure_alone() -> None:
    text = texts.V16_RATE.replace("skipped: 18000 (37.500%)", "skipped: 12 (0.040%)")
    assert result(text).result.outcome.against == ()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (texts.V12_STATEMENTS, "not read: `statement latencies (-r)`"),
        (texts.V17_SCRIPTS, "not read: `figures by script`"),
        (texts.V13_CONNECTING, "with the time to connect its rate is 84.511/s"),
        (texts.V15_RETRIES, "its mean response time is of failed transactions too"),
        (texts.V14.replace("query mode: simple\n", ""), "not there: query mode"),
        (texts.V14.replace("pgbench (14.20)\n", ""), "not there: pgbench (VERSION)"),
        (texts.V14.replace("duration: 60 s\n", ""), "not there: duration or transactions"),
        (texts.V14.replace("duration", "number of moons: 3\nduration"), "number of moons: 3"),
        (texts.V14.replace("48000", "24000"), "24000 transactions at its rate took 30 s of 60"),
    ],
)
def test_what_is_otherwise_is_told(text: str, printed: str) -> None:
    assert any(printed in note for note in result(text).notes)


def test_scripts_partitions_servers_and_connecting_are_options() -> None:
    several = result(texts.V17_SCRIPTS).result
    assert several.script == "s.sql@3+select only@1"
    assert (several.options["server_version"], several.options["events_of_a_client"]) == (
        "15.18",
        100,
    )
    assert result(texts.V13_CONNECTING).result.options["partitions"] == 4
    assert result(texts.V15_CONNECTING).result.options["reconnect"] == "each transaction"


def test_a_loop_over_clients_is_steps_of_one_cell() -> None:
    matched = results(
        "".join(texts.V9_6.replace("clients: 8", f"clients: {n}") for n in (1, 2, 8))
        + "$ pgbench -c 8\n"
        + texts.V9_6
    )
    assert [(entry.cell, entry.clients, entry.line) for entry in matched] == [
        ("pgbench", 1, 1),
        ("pgbench", 2, 15),
        ("pgbench", 8, 29),
        ("pgbench", 8, 44),
    ]


def test_a_loop_over_scripts_is_a_cell_each() -> None:
    matched = results(texts.V14 + texts.V14.replace("TPC-B (sort of)", "select only"))
    assert [entry.cell for entry in matched] == ["TPC-B-sort-of", "select-only"]
    named = read_sources(["x=a.txt"], tool=None, clients=None)
    assert [entry.cell for entry in named] == ["x-TPC-B-sort-of", "x-select-only"]


def test_a_loop_over_other_options_names_what_differs() -> None:
    matched = results(texts.V14 + texts.V14.replace("factor: 20", "factor: 40"))
    assert [entry.cell for entry in matched] == ["pgbench-scale-20", "pgbench-scale-40"]


def test_a_result_that_was_cut_is_told_and_the_others_are_kept() -> None:
    matched = results(texts.V14 + texts.V14.partition("tps = ")[0])
    assert len(matched) == 1
    assert "not imported: a.txt:23: the text ends without a summary" in " ".join(matched[0].notes)


def test_initialising_and_shell_lines_between_results_are_none() -> None:
    between = "dropping old tables...\ncreating tables...\ndone in 0.58 s\n$ pgbench -c 8\n"
    assert len(results(between + texts.V14 + between + texts.V18 + between)) == 2


def test_an_aggregated_log_is_a_result() -> None:
    entry = result(texts.AGGREGATED_13, clients=2, name="pgbench_log.7")
    measured = entry.result.outcome
    assert (measured.events, measured.window_s) == (1000, 2.0)
    assert measured.latency_us == {"mean": 2000.0, "max": 87_548.0}
    assert [s.value for s in measured.samples] == [459, 2, 541, 2]
    assert measured.ended_unix_ns == 1_795_814_917 * 10**9
    assert entry.result.arrival == "unknown"


def test_aggregated_logs_of_threads_are_added_up() -> None:
    Path("l.1").write_text(texts.AGGREGATED_13)
    Path("l.1.1").write_text(texts.AGGREGATED_13)
    (entry,) = read_sources(["l.1", "l.1.1"], tool=None, clients=4)
    assert (entry.result.outcome.events, entry.result.outcome.window_s) == (2000, 2.0)


def test_an_aggregated_log_says_what_was_skipped() -> None:
    measured = result(texts.AGGREGATED_15_RATE, clients=2).result
    assert (measured.arrival, measured.outcome.events) == ("open", 300)
    assert measured.outcome.figures["skipped_share"] == pytest.approx(185 / 485)
    assert "185 transactions were skipped" in measured.outcome.against[0]


def test_an_aggregated_log_beside_the_text_has_the_greatest_time() -> None:
    Path("a.txt").write_text(texts.V14)
    Path("log").write_text(texts.AGGREGATED_13)
    (entry,) = read_sources(["a.txt+log"], tool=None, clients=None)
    assert entry.result.outcome.latency_us == {"mean": 10_000.0, "max": 99_999.0}
    assert len(entry.result.outcome.samples) == 4


def test_the_report_says_what_the_text_says_against_itself() -> None:
    keep(Store(Path("s")), "mine", [result(texts.V16_RATE)], "…")
    analysis = analyse(gather(Path("s"), "mine"))
    matched = {gate.name: gate for gate in gates(analysis)}
    assert matched["Tool: pgbench"].state == "doubtful"
    assert "18000 transactions were skipped" in matched["Tool: pgbench"].text
    printed = " ".join(limits(analysis))
    assert "Load came at a rate" in printed
    assert "Load was closed" not in printed
    (point,) = analysis.points
    assert "18000 transactions were skipped" in point.why_left_out()[1]


def test_the_report_says_closed_only_where_the_text_does() -> None:
    lines = "\n".join(f"0 {n} 900 0 1700000000 {n} 5" for n in range(1, 50))
    for name, text, printed in (("a", texts.V14, True), ("b", lines, False)):
        keep(Store(Path("s")), name, [result(text)], "…")
        measured = limits(analyse(gather(Path("s"), name)))
        assert any("Load was closed" in entry for entry in measured) is printed


def test_the_report_names_what_was_not_found_and_not_read() -> None:
    text = texts.V18.replace("query mode: simple\n", "")
    keep(Store(Path("s")), "mine", [result(text)], "…")
    measured = " ".join(limits(analyse(gather(Path("s"), "mine"))))
    assert "Usual lines of pgbench 18.6 that the imported texts lack: query mode." in measured
    assert "not read: statement latencies (-r)." in measured
