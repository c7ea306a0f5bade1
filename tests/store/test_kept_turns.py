"""Stores with turns and samples, written by earlier versions: each is read, and says the same.

Made up by the tests' own writer: two blocks of two cells, eight turns each, samples of a minute.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.report import write
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.stats import PairedEffect
from dbdyno.store import Store

PATHS = sorted((Path(__file__).parent / "kept-turns").iterdir())
"""Never changed, only added to."""

every = pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.name))


@every
def test_turns_and_samples_are_read(path: Path) -> None:
    survey = Store(path).study("study").survey(whole=True)
    assert (len(survey.runs), survey.damages) == (4, ())
    run = survey.runs["b1-wal"]

    assert [turn.position for turn in run.turns] == [1, 0, 0, 1, 1, 0, 0, 1]
    first = run.turns[0]
    assert (first.step, first.round, first.window_s, first.steal_over_s) == (0, 0, 2.0, 2.5)
    assert first.before is not None
    assert (first.before.spin, first.before.fsync) == (1.0, 1.0)
    assert run.metrics is not None
    table, metrics = run.metrics
    assert table.num_rows == 240
    assert metrics["mysql"]["syncs"].kind == "counter"
    assert metrics["mysql"]["history_list"].text == "Transactions not purged"


@every
def test_its_turns_are_compared_as_ever(path: Path) -> None:
    (comparison,) = analyse(gather(path, "study")).comparisons
    effect = comparison.judgement.effect

    assert isinstance(effect, PairedEffect)
    assert comparison.turns is not None
    assert sum(comparison.turns.turns) == 16
    assert effect.ratio == pytest.approx(1.05, rel=0.02)


@every
def test_its_samples_are_figures_as_ever(path: Path) -> None:
    analysis = analyse(gather(path, "study"))
    found = {
        point.label: {
            name: round(point.blocks[0].summary.figures[name], 1)
            for name in ("mysql.history_list", "mysql.syncs")
        }
        for point in analysis.points
    }

    # Turns with their lead-in, by second of their windows.
    assert found == {
        "delete": {"mysql.history_list": 90.0, "mysql.syncs": 411.8},
        "wal": {"mysql.history_list": 70.0, "mysql.syncs": 382.4},
    }


@every
def test_its_report_is_written(path: Path, tmp_path: Path) -> None:
    written = write(path, "study", tmp_path / "report.html", pictures=False)

    assert "mysql.history_list" in written.page.read_text("utf-8")
    assert written.headline.startswith("wal against delete")
