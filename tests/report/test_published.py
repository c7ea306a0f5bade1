"""Published figures beside those measured: what is told where, and which comparisons agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import answers
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.published import (
    AGREES,
    DIFFERS,
    NOT_RUN,
    OPEN,
    OTHER_SIZE,
    agreement_word,
    compared_with_published,
    direction_word,
    published_tables,
)
from dbdyno.stats import PairedEffect, effect_of

SHORT = SMALL.replace('"30 s"', '"12 s"').replace('"5 s"', '"2 s"')

PUBLISHED = (
    'published_note = "Their disk was slower."\n'
    + SHORT
    + """
[[published]]
cell = { journal = "delete", synchronous = "full" }
clients = 4
value = 100
unit = "commits/s"
text = "3.7, rollback journal"

[[published]]
cell = { journal = "wal", synchronous = "full" }
clients = 4
value = 250
unit = "commits/s"
text = "3.7, WAL"
why = "WAL was new"

[[published]]
cell = { journal = "wal", synchronous = "full" }
clients = 16
value = 900

[[published]]
cell = { synchronous = "normal" }
against = { synchronous = "full" }
clients = 4
value = [1.4, 1.6]

[[published]]
metric = "p50"
value = 12
unit = "ms"
clients = 4
"""
)


def rate(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` is 2.5 times as fast; `normal` makes no difference."""
    return (1000.0 if run.cell.levels["journal"] == "wal" else 400.0) * (1 + 0.03 * run.block)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, Path]:
    store = write_study(tmp_path_factory.mktemp("published"), PUBLISHED, World(rate))
    return analyse(gather(store, "study")), store


def test_each_figure_stands_beside_ours_in_its_own_unit(told: tuple[Analysis, Path]) -> None:
    figures, _ = published_tables(told[0])
    names = [column.name for column in figures.columns]
    rows = [dict(zip(names, row, strict=True)) for row in figures.values]
    slow, fast, unseen, time = rows
    assert slow["cell"] == "delete, full"
    assert slow["here"] == pytest.approx(424, rel=0.02)
    assert slow["ratio"] == pytest.approx(4.24, rel=0.02)
    assert slow["ratio_95"] == pytest.approx((3.94, 4.57), rel=0.02)
    assert fast["remark"] == "WAL was new"
    assert (unseen["remark"], unseen["here"], unseen["clients"]) == (NOT_RUN, None, 16)
    assert time["figure"] == "Response time, p50, ms"
    assert time["here"] == pytest.approx(9.4, rel=0.1)


def test_two_figures_that_differ_in_one_factor_are_a_comparison(
    told: tuple[Analysis, Path],
) -> None:
    found = list(compared_with_published(told[0]))
    words = {(one.pair.cell["journal"], one.pair.cell["synchronous"]): one.word for one in found}
    assert words == {("wal", "full"): AGREES, ("delete", "normal"): DIFFERS}
    assert "Of 2 published comparisons, 1 seen again; 1 contradicted." in answers(told[0])


def test_a_direction_is_held_against_ours(tmp_path: Path) -> None:
    told = 'against = {{ journal = "delete" }}\nclients = 4\ndirection = "{}"\n'
    both = [
        '\n[[published]]\ncell = { journal = "wal" }\n' + told.format(one)
        for one in ("higher", "lower")
    ]
    store = write_study(tmp_path, SHORT + "".join(both), World(rate))

    figures = list(published_tables(analyse(gather(store, "study"))))

    (table,) = figures  # a direction is no figure, and stands in no table of these
    columns = [column.name for column in table.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in table.rows]
    assert [(row["published"], row["word"]) for row in rows] == [
        ("higher", AGREES),
        ("lower", DIFFERS),
    ]
    assert "higher,higher" in table.csv()


def test_the_page_tells_then_and_now_with_the_note(told: tuple[Analysis, Path]) -> None:
    page = page_of(told[1])
    assert "Then and now" in page
    assert "Their disk was slower." in page
    assert "3.7, WAL against 3.7, rollback journal" in page


def test_nothing_is_told_without_published_figures(tmp_path: Path) -> None:
    assert "Then and now" not in page_of(write_study(tmp_path, SHORT, World(rate)))


def test_a_note_is_told_by_itself(tmp_path: Path) -> None:
    noted = 'published_note = "Their builds can\'t be had."\n' + SHORT

    page = page_of(write_study(tmp_path, noted, World(rate)))

    assert "Their builds can" in page.partition("Then and now")[2]


def test_a_cell_that_the_scale_leaves_out_is_told_by_its_own_level(tmp_path: Path) -> None:
    text = PUBLISHED.replace("blocks = 3", 'blocks = 3\nlevels = { journal = ["delete"] }')
    store = write_study(tmp_path, text, World(rate))
    figures, comparisons = published_tables(analyse(gather(store, "study")))
    column = [one.name for one in figures.columns].index("cell")
    assert [row[column] for row in figures.rows][1] == "wal, full"
    names = [one.name for one in comparisons.columns]
    rows = [dict(zip(names, row, strict=True)) for row in comparisons.rows]
    unseen = [row for row in rows if row["word"] == NOT_RUN]
    assert [(row["cell"], row["reference"]) for row in unseen] == [("wal, full", "delete")]


@pytest.mark.parametrize(
    ("differences", "low", "high", "word"),
    [
        ([0.39, 0.40, 0.41], 1.5, 1.5, AGREES),
        ([0.09, 0.10, 0.11], 1.5, 1.5, OTHER_SIZE),
        ([-0.09, -0.10, -0.11], 1.5, 1.5, DIFFERS),
        ([-0.001, 0.0, 0.001], 1.5, 1.5, DIFFERS),
        ([-0.5, 0.3, 0.9], 1.5, 1.5, OPEN),
        ([-0.001, 0.0, 0.001], 0.99, 1.01, AGREES),
        ([0.39, 0.40, 0.41], 1.0, 1.0, DIFFERS),
        ([0.16, 0.17, 0.18], 1.17, 1.18, AGREES),
    ],
)
def test_the_word_of_a_comparison(
    differences: list[float], low: float, high: float, word: str
) -> None:
    effect = effect_of(differences)
    assert isinstance(effect, PairedEffect)
    assert agreement_word(effect, low, high, 0.02) == word


@pytest.mark.parametrize(
    ("differences", "direction", "word"),
    [
        ([0.39, 0.40, 0.41], "higher", AGREES),
        ([0.39, 0.40, 0.41], "lower", DIFFERS),
        ([-0.39, -0.40, -0.41], "lower", AGREES),
        ([-0.5, 0.3, 0.9], "higher", OPEN),
        ([-0.001, 0.0, 0.001], "higher", DIFFERS),
        ([0.0009, 0.001, 0.0011], "higher", AGREES),
    ],
)
def test_the_word_of_a_direction(differences: list[float], direction: str, word: str) -> None:
    effect = effect_of(differences)
    assert isinstance(effect, PairedEffect)
    assert direction_word(effect, direction, 0.02) == word
