"""A study in turns goes on with longer blocks: nothing is run twice, and both count."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import StudyOutcome, conduct_study, open_study
from dbdyno.conduct.planning import plan_study
from dbdyno.engine import find_engine
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.store import Store

STUDY = """\
question = "Which journal?"

[server.lite]
provision = "sqlite"

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "kv_update"
options = { table_size = 100 }

[load]
clients = 1
measure = "400 ms"

[design]
blocks = 1
turn = "200 ms"
lead_in = "50 ms"
baseline = { journal = "delete" }
"""


def carry_out(file: Path, store: Store) -> StudyOutcome:
    loaded = open_study(str(file))
    study, plan = plan_study(loaded.study, store)
    assert plan.order == "turns"
    assert study.design.twice == {}
    return conduct_study(loaded, plan, store, find_engine(), observe=lambda _: None)


@pytest.mark.slow
def test_longer_blocks_go_on_in_the_same_folder(
    tmp_path: Path, clean: None, every_turn_counts: None
) -> None:
    file, store = tmp_path / "journal.toml", Store(tmp_path / "store")
    file.write_text(STUDY)
    first = carry_out(file, store)
    assert (first.complete, first.failures) == (2, ())
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("manifest.json")}

    longer = STUDY.replace('"400 ms"', '"1 s"').replace("blocks = 1", "blocks = 2")
    file.write_text(longer)
    second = carry_out(file, store)

    assert (second.folder, second.already, second.complete) == ("journal", 2, 2)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    runs = store.study("journal").runs()
    assert {name: len(run.turns) for name, run in runs.items()} == {
        "b1-delete": 2,
        "b1-wal": 2,
        "b2-delete": 5,
        "b2-wal": 5,
    }
    (comparison,) = analyse(gather(store.root, "journal")).comparisons
    assert comparison.blocks == (1, 2)
