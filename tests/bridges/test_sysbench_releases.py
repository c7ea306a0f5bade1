"""sysbench 0.4 to 1.1 and our own drop-in: each release's layout, rates, several in a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import texts_sysbench as texts
from reading import rate, result, results

from dbdyno.cli import call
from dbdyno.engine.binary import find_engine


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version", "statements", "errors", "p95"),
    [
        (texts.V0_4, "0.4.12", 42_000, 7, 13_220),
        (texts.V0_5, "0.5", 40_000, 3, 13_220),
        (texts.V1_0, "1.0.20", 40_000, 0, 13_220),
        (texts.V1_0_NO_RANKS, "1.0.20", 40_000, 0, None),
        (texts.V1_1, "1.1.0-0000000", 40_000, 0, 13_220),
        (texts.V1_0.replace("1.0.20", "1.1.0"), "1.1.0", 40_000, 0, 13_220),
        (texts.V1_0_CPU, "1.0.20", 0, 0, 13_220),
    ],
)
def test_each_release(
    text: str, version: str, statements: int, errors: int, p95: float | None
) -> None:
    entry = result(text)
    measured = entry.result
    assert (entry.bridge.tool, measured.version) == ("sysbench", version)
    assert (measured.outcome.events, measured.outcome.window_s, rate(entry)) == (2000, 4.0, 500.0)
    assert (measured.outcome.statements, measured.outcome.errors) == (statements, errors)
    ranks = {} if p95 is None else {"p95": p95}
    assert measured.outcome.latency_us == {**ranks, "mean": 7990, "max": 61_300}
    assert (measured.stated_per_s, measured.arrival, measured.absent) == (500.0, "closed", ())


def test_lines_over_time_have_the_percentile_that_was_asked_for() -> None:
    for text, metrics in (
        (texts.V0_5, ["latency_p95_ms"]),
        (texts.V1_0_P99, ["latency_p99_ms"]),
        (texts.OURS_LIST, ["latency_p50_ms", "latency_p95_ms", "latency_p99_9_ms"]),
    ):
        measured = result(text).result.outcome
        names = [sample.metric for sample in measured.samples]
        assert names == ["events_per_s", *metrics] * 2
        assert [s.value for s in measured.samples if s.metric == "events_per_s"] == [500, 510]
    assert result(texts.V0_5).result.outcome.reconnects == 1


def test_a_list_of_percentiles_is_read_whole() -> None:
    measured = result(texts.OURS_LIST).result.outcome.latency_us
    assert (measured["p50"], measured["p95"], measured["p99.9"]) == (7560, 13_220, 40_370)
    other = result(texts.V1_0.replace("95th", "90th")).result.outcome
    assert other.figures["event_us_p90"] == 13_220


def test_a_rate_is_an_option_and_no_closed_loop() -> None:
    measured = result(texts.V1_1_RATE).result
    assert (measured.arrival, measured.options["rate_per_s"]) == ("open", 500.0)
    behind = result(texts.V1_0_BEHIND).result
    assert behind.outcome.against == ("9715 events were due and not yet begun",)


def test_without_the_number_of_threads_it_is_asked_for() -> None:
    text = texts.V1_0.partition("Threads started!\n")[2]
    entry = result(text, clients=4)
    assert entry.result.arrival == "unknown"
    assert "sysbench VERSION, Number of threads" in " ".join(entry.notes)


def test_lines_that_are_not_known_are_named() -> None:
    text = texts.V1_0.replace("threads: 4\n", "threads: 4\nPhase of the moon: full\n")
    assert result(text).result.unread == ("Phase of the moon: full",)
    assert result(texts.V0_4).result.unread == ("Using auto_inc on the id column",)


def test_old_releases_may_tell_seconds() -> None:
    text = texts.V0_4.replace("7.99ms", "0.0080s").replace("13.22ms", "0.0132s")
    measured = result(text.replace("61.30ms", "0.0613s")).result.outcome.latency_us
    assert measured == {"p95": 13_200, "mean": 8000, "max": pytest.approx(61_300)}


def test_zeros_of_fast_events_are_no_times() -> None:
    text = texts.V1_0_CPU.replace("7.99", "0.00").replace("13.22", " 0.00")
    measured = result(text).result.outcome.latency_us
    assert measured == {"mean": 7990, "max": 61_300}


def test_reports_at_checkpoints_are_parts_of_a_run() -> None:
    matched = results(texts.CHECKPOINTS)
    assert [entry.cell for entry in matched] == [
        "sysbench-to-1.0017s",
        "sysbench-to-2.0009s",
        "sysbench-to-3.5025s",
    ]
    assert [rate(entry) for entry in matched] == pytest.approx([166.58, 252.26, 63.94], rel=2e-3)
    assert {entry.clients for entry in matched} == {4}
    assert {entry.result.version for entry in matched} == {"1.0.20"}


def test_a_loop_with_preparation_and_cleaning_up() -> None:
    runs = [texts.V1_0.replace("threads: 4", f"threads: {n}") for n in (1, 2, 4)]
    text = "".join(texts.PREPARE + run + texts.CLEANUP for run in runs)
    assert [(entry.cell, entry.clients) for entry in results(text)] == [
        ("sysbench", 1),
        ("sysbench", 2),
        ("sysbench", 4),
    ]


def test_a_rate_is_another_load_for_compare(capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a", texts.V1_1_RATE), ("b", texts.V1_1)):
        Path(name).write_text(text)
    assert call(["import", "a=a", "b=b", "--as", "m", "--store", "s"]) == 0
    assert call(["compare", "m/a", "m/b", "--assume-alike", "--store", "s"]) == 0
    printed = capsys.readouterr().out
    assert "rate_per_s: 500.0 → none" in printed
    assert "no verdict: load differ" in printed


def test_too_many_errors_are_the_reason_that_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    text = texts.V1_0.replace("errors:                      0", "errors:                      10")
    for name, total in (("a1", 4), ("a2", 5), ("b1", 4), ("b2", 5)):
        Path(name).write_text(text + "\n" * total)
    assert call(["import", "a=a1", "a=a2", "b=b1", "b=b2", "--as", "m", "--store", "s"]) == 0
    assert call(["compare", "m/a", "m/b", "--assume-alike", "--store", "s"]) == 0
    printed = capsys.readouterr().out
    assert "all 4 runs are left out: 0.5 % of their operations failed; 0.01 % is tol" in printed


@pytest.mark.parametrize("compat", ["1.0", "1.1"])
@pytest.mark.parametrize("ranks", ["95", "50,95,99.9"])
def test_what_our_own_drop_in_prints(compat: str, ranks: str) -> None:
    words = [f"--compat={compat}", "cpu", "--time=1", "--threads=2", f"--percentile={ranks}"]
    printed = subprocess.run(
        [find_engine().path, "sysbench", *words, "run"], capture_output=True, text=True, check=True
    ).stdout
    entry = result(printed)
    assert (entry.bridge.tool, entry.clients, entry.result.script) == ("sysbench", 2, "cpu")
    assert {f"p{rank}" for rank in ranks.split(",")} <= entry.result.outcome.latency_us.keys()
    assert (entry.result.absent, entry.result.unread) == ((), ())
