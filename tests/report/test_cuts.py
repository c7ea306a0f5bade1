"""A long study cut into short ones (`bench.verdicts`): what was put upon one side is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_up_runs import World, write_study
from test_turns_compared import TEXT, driven, even

from bench.verdicts import against_itself, cut, half_width, held, held_page, judged, page, rows
from dbdyno.formats.study import read_study
from dbdyno.model import Study
from dbdyno.report.material.gather import gather
from dbdyno.report.material.material import Material
from dbdyno.stats.verdict import Verdict

STUDIES = Path(__file__).parents[2] / "bench" / "studies"


def seven_blocks(folder: Path) -> Material:
    """`wal` is 5 % faster in every block."""
    return so_many_blocks(folder, 7)


def so_many_blocks(folder: Path, blocks: int) -> Material:
    text = TEXT.replace("blocks = 3", f"blocks = {blocks}")
    return gather(write_study(folder, text, World(even, turns=driven())), "study")


def test_blocks_are_cut_into_studies_that_do_not_overlap(tmp_path: Path) -> None:
    found = list(rows(seven_blocks(tmp_path), lengths=(3, 6)))

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

    found = judged(cut(whole, (1, 2, 3), -0.05 / 1.05))
    assert found.verdict is Verdict.EQUIVALENT
    assert 0 < half_width(found) < 0.02
    assert judged(cut(whole, (4, 5, 6), -0.15)).verdict is Verdict.WORSE


def test_the_table_counts_every_cut(tmp_path: Path) -> None:
    told = page(list(rows(seven_blocks(tmp_path), lengths=(3, 6)))).splitlines()

    assert told[0].startswith("| blocks | put upon it | cuts | better | worse |")
    assert told[2].startswith("| 3 | +0% | 2 | 2 | 0 | 0 | 0 | 0 | ±")


def test_short_studies_are_held_against_a_long_one_that_shares_no_block_with_them(
    tmp_path: Path,
) -> None:
    whole = so_many_blocks(tmp_path, 17)
    (found,) = held(whole, length=6, long=5, shifts=(0.0,))

    assert found.long == judged(cut(whole, range(13, 18), 0.0))
    assert found.long.verdict is Verdict.BETTER
    assert (found.cuts, found.found, found.hold) == (2, 2, 2)
    assert list(held(cut(whole, range(1, 11), 0.0), length=6, long=5)) == []


def test_what_the_short_studies_miss_is_not_counted(tmp_path: Path) -> None:
    whole = so_many_blocks(tmp_path, 11)
    early = cut(whole, range(1, 7), -0.12).runs  # Only the long study's blocks have the effect.
    late = cut(whole, range(7, 12), 0.0).runs
    (found,) = held(replace(whole, runs=(*early, *late)), length=6, long=5, shifts=(0.0,))

    assert found.long.verdict is Verdict.BETTER
    assert (found.cuts, found.found, found.hold) == (1, 0, 0)
    head, _, told = held_page([found]).splitlines()
    assert head == "| put upon it | 5 blocks say | cuts of 6 | find it | hold it |"
    assert told.startswith("| +0% | better: +") and told.endswith(" | 1 | 0 | 0 |")


def test_only_a_server_against_itself_has_no_effect_of_its_own() -> None:
    def whole(name: str) -> Study:
        return read_study(STUDIES / f"{name}.toml").study

    assert against_itself(whole("against-itself"))
    assert not against_itself(whole("trigger-cost"))
