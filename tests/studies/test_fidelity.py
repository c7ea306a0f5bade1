"""The page that holds each study against its original names what there is in the study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from dbdyno.conduct import bundled_studies
from dbdyno.formats.study import read_study

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fidelity.md"
STUDIES = bundled_studies()
NAMED = re.compile(r"`([^`]+)`")
NONE_YET = "no study yet"

ROWS: Sequence[Sequence[str]] = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `")
]


def test_there_is_a_row_for_each_of_the_27() -> None:
    assert len(ROWS) == 27
    assert {len(row) for row in ROWS} == {4}


def test_every_study_with_a_source_is_in_one_row() -> None:
    rows = [name for row in ROWS for name in NAMED.findall(row[0])]
    sourced = [name for name, file in STUDIES.items() if read_study(file).study.source]

    assert len(rows) == len(set(rows))
    assert set(sourced) <= set(rows)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: NAMED.findall(row[0])[0])
def test_a_row_says_whether_there_is_a_study(row: Sequence[str]) -> None:
    there = [name in STUDIES for name in NAMED.findall(row[0])]

    assert all(there) or not any(there)
    assert (row[1] == NONE_YET) is not all(there)
    assert all(row[1:])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: NAMED.findall(row[0])[0])
def test_what_a_row_names_is_in_the_study(row: Sequence[str]) -> None:
    names = NAMED.findall(row[0])
    text = "\n".join(STUDIES[name].read_text() for name in names if name in STUDIES)
    named = {word for cell in row[1:] for word in NAMED.findall(cell)} - set(STUDIES)

    assert {word for word in named if word not in text} == set()
