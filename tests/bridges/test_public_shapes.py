"""Texts as public pages and repositories have them: figures, what is missing, true reasons."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_public as texts
from reading import rate, result, results


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


def test_fewer_transactions_than_asked_for_are_told() -> None:
    """As in public reports of bugs: up to release 10 the summary says no more than this."""
    entry = result(texts.PGBENCH_FEWER.format(done=700))
    assert entry.result.outcome.against == (
        "700 of 1000 transactions ended: some of its clients ended early",
    )
    assert result(texts.PGBENCH_FEWER.format(done=1000)).result.outcome.against == ()
