"""The guide's example does what the guide says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from product import dbdyno

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "own-study.md"


@pytest.mark.slow
def test_the_example_answers_its_question(tmp_path: Path, clean: None) -> None:
    for language, name in (("lua", "orders.lua"), ("toml", "index.toml")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
        (tmp_path / name).write_text(block)

    assert dbdyno("check", "index.toml", folder=tmp_path).code == 0
    told = dbdyno("run", "index.toml", folder=tmp_path)

    assert told.code == 0, told.err
    assert Path(tmp_path, told.out.strip()).exists()
    # A sequential scan of 200,000 rows against a look-up in an index: no noise turns that round.
    assert "With the index there are ×" in told.err
