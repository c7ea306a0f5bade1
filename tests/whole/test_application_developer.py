"""The nine studies of the guide for application developers: each can be run as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.cli import call
from dbdyno.formats.study import read_study

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "application-developer.md"
FOLDER = GUIDE.with_suffix("")
STUDIES = sorted(FOLDER.glob("*.toml"))

IN_CHECK = ("begin-immediate", "prepared-text")
"""Expected errors with a rule, and what clients do as levels: the others take a minute together."""


def test_the_guide_has_each_study_with_its_question_and_script() -> None:
    page = GUIDE.read_text()

    for file in STUDIES:
        study = read_study(file).study
        (row,) = [line for line in page.splitlines() if f"({FOLDER.name}/{file.name})" in line]
        assert study.question.rstrip("?") in row.replace("`", "")
    linked = set(re.findall(rf"\({FOLDER.name}/([\w.-]+)\)", page))
    assert linked == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_passes_check(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["check", str(file)]) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=[] if file.stem in IN_CHECK else pytest.mark.nightly)
        for file in STUDIES
    ],
)
def test_a_study_can_be_run(file: Path, tmp_path: Path, clean: None) -> None:
    done = dbdyno("run", str(file), "--scale", "smoke", "--no-pictures", folder=tmp_path)

    assert done.code == 0, done.err
    assert Path(tmp_path, done.out.strip()).exists()
    assert "Not measured" not in done.err
