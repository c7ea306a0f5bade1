"""A study of two cells for tests of what a level asks: one asks nothing, the other is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.opening import open_study
from dbdyno.errors import StudyError

TEXT = """\
question = "Does it matter?"
workload.script = "nothing"
load = { LOAD }
[server.one]
provision = "PROVISION"
[factor.way]
direct = {}
other = { LEVEL }
"""
LINE_OF_LEVEL = 8


def study(
    folder: Path,
    level: str,
    provision: str = "postgresql:18.4",
    load: str = 'clients = 1, measure = "1 s"',
) -> Path:
    """The study's file, in `folder` with its script."""
    (folder / "nothing.lua").write_text("function event() end\n")
    file = folder / "two_ways.toml"
    text = TEXT.replace("LOAD", load).replace("PROVISION", provision).replace("LEVEL", level)
    file.write_text(text)
    return file


def assert_refused(file: Path, told: str) -> None:
    """Reading the study fails at its level, and says so much."""
    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert told in caught.value.message
    assert caught.value.line == LINE_OF_LEVEL
