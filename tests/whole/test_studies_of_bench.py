"""The studies behind `make verdicts`, at the scale that only shows that they can be carried out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from product import dbdyno

STUDIES = Path(__file__).parents[2] / "bench" / "studies"


@pytest.mark.slow
@pytest.mark.nightly  # They are for `make verdicts`, which takes hours.
@pytest.mark.parametrize("name", sorted(file.stem for file in STUDIES.glob("*.toml")))
def test_a_study_of_bench_runs_at_smoke_scale(name: str, tmp_path: Path, clean: None) -> None:
    told = dbdyno("run", STUDIES / f"{name}.toml", "--scale", "smoke", "--json", folder=tmp_path)

    assert told.code == 0, told.err
    document = json.loads(told.out)
    assert (document["failed"], document["complete"]) == ([], 4)
