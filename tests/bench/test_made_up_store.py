"""The made-up store that a report's cost is measured on."""

from __future__ import annotations

from pathlib import Path

from bench.made_up_store import BLOCKS, CELLS, NAME, WARM_UP_S, made_up_store
from dbdyno.report.material.gather import gather


def test_it_is_whole_and_as_large_as_asked_for(tmp_path: Path) -> None:
    material = gather(made_up_store(tmp_path, seconds=20, metrics=30), NAME, every_sample=True)

    assert len(material.runs) == CELLS * BLOCKS
    assert material.damages == ()
    for run in material.runs:
        assert run.manifest.status == "complete"
        assert len(run.samples.series) == 30
        assert {
            one.values.size for there in run.samples.series.values() for one in there.values()
        } == {20 + WARM_UP_S}
