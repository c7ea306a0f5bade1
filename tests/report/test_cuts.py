"""A long study cut into short ones (`bench.verdicts`): what was put upon one side is found."""

from __future__ import annotations

from pathlib import Path

from made_up_runs import World, write_study
from test_turns_compared import TEXT, driven, even

from bench.verdicts import cut, judged, page, rows
from dbdyno.report.gather import gather
from dbdyno.report.material import Material
from dbdyno.stats.verdict import Verdict


def seven_blocks(folder: Path) -> Material:
    """`wal` is 5 % faster in every block."""
    text = TEXT.replace("blocks = 3", "blocks = 7")
    return gather(write_study(folder, text, World(even, turns=driven())), "study")


def test_blocks_are_cut_into_studies_that_do_not_overlap(tmp_path: Path) -> None:
    found = list(rows(seven_blocks(tmp_path)))

    assert [(row.blocks, row.shift, len(row.half_widths)) for row in found] == [
        (3, 0.0, 2),
        (3, 0.05, 2),
        (3, -0.05, 2),
        (6, 0.0, 1),
        (6, 0.05, 1),
        (6, -0.05, 1),
    ]
    assert [row.verdicts for row in found if row.shift == 0.0] == [
        {Verdict.BETTER: 2},
        {Verdict.BETTER: 1},
    ]


def test_what_is_put_upon_the_candidate_is_taken_for_an_effect(tmp_path: Path) -> None:
    whole = seven_blocks(tmp_path)

    verdict, width = judged(cut(whole, (1, 2, 3), -0.05 / 1.05))
    assert verdict is Verdict.EQUIVALENT
    assert 0 < width < 0.02
    assert judged(cut(whole, (4, 5, 6), -0.15))[0] is Verdict.WORSE


def test_the_table_counts_every_cut(tmp_path: Path) -> None:
    told = page(list(rows(seven_blocks(tmp_path)))).splitlines()

    assert told[0].startswith("| blocks | put upon it | cuts | better | worse |")
    assert told[2].startswith("| 3 | +0% | 2 | 2 | 0 | 0 | 0 | 0 | ±")
