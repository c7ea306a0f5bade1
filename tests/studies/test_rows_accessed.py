"""Which rows a study with a script of sysbench's accesses: said in the study and in the table.

A published command line leaves out its tool's defaults, and sysbench's were others than a study's
(`docs/reference/defaults-of-tools.md`), so no bundled study leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbdyno.conduct import bundled_studies
from dbdyno.design import cells
from dbdyno.formats.study import read_study

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "defaults-of-tools.md"
STUDIES = bundled_studies()
DEFAULT = "uniform"


def distributions(name: str) -> set[str]:
    """Of all cells of a study at all its scales that run one of sysbench's scripts."""
    scales = read_study(STUDIES[name]).study.scales
    every = (
        cell for scale in scales for cell in cells(read_study(STUDIES[name], scale=scale).study)
    )
    return {
        str(cell.options.get("rand_type", DEFAULT))
        for cell in every
        if cell.script.startswith("oltp_")
    }


def table() -> Mapping[str, str]:
    """Study → the rows it accesses, by the page."""
    drawn: dict[str, str] = {}
    for line in PAGE.read_text().splitlines():
        cells_of_line = [cell.strip() for cell in line.strip("|").split("|")]
        for name in re.findall(r"`([\w-]+)`", cells_of_line[0]):
            drawn.setdefault(name, cells_of_line[1].split()[0].strip("`"))
    return drawn


DRAWN = {name: drawn for name in STUDIES if (drawn := distributions(name))}


def test_there_are_studies_with_sysbench_s_scripts() -> None:
    assert len(DRAWN) >= 7
    assert set().union(*DRAWN.values()) == {"special", "uniform", "pareto"}


@pytest.mark.parametrize("name", DRAWN)
def test_a_study_accesses_rows_as_the_table_says_at_every_scale(name: str) -> None:
    assert DRAWN[name] == {table().get(name)}


@pytest.mark.parametrize("name", DRAWN)
def test_a_study_says_which_rows_it_accesses(name: str) -> None:
    (drawn,) = DRAWN[name]

    assert drawn in STUDIES[name].read_text()
