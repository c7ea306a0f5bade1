"""The guide's example does what the guide says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from product import dbdyno

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "own-study.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the guide's files, under the names it gives them."""
    blocks = re.findall(r"```(?:lua|toml)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for name, block in zip(("orders.lua", "index.toml", "agree.toml"), blocks, strict=True):
        (tmp_path / name).write_text(block)
    return tmp_path


@pytest.mark.slow
@pytest.mark.nightly  # A minute and a half of both processors.
def test_the_example_answers_its_question(folder: Path, clean: None) -> None:
    assert dbdyno("check", "index.toml", folder=folder).code == 0
    told = dbdyno("run", "index.toml", folder=folder)

    assert told.code == 0, told.err
    assert Path(folder, told.out.strip()).exists()
    # A sequential scan of 200,000 rows against a look-up in an index: no noise turns that round.
    assert "Events a second with the index, against none: ×" in told.err


@pytest.mark.slow
@pytest.mark.nightly  # Twelve runs of two generators: two minutes.
def test_two_tools_agree_on_it(folder: Path, clean: None) -> None:
    told = dbdyno("run", "agree.toml", folder=folder)

    assert told.code == 0, told.err
    assert "Of 2 comparisons with the baseline: faster in 2." in told.err
