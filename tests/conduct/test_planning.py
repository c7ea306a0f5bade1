"""What a study's file leaves open: decided when it is first measured, and kept however it grows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.conduct.planning import LONG_S, plan_study
from dbdyno.design.identity import whole_fingerprint
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import read_study
from dbdyno.model import Plan, Study
from dbdyno.store import Store, open_study_folder

# Two cells of 20 minutes: two blocks are longer than an hour.
TEXT = """
question = "Which journal?"

[server]
sqlite = { provision = "sqlite" }

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "kv_update"

[load]
clients = 1
measure = "20 min"

[design]
blocks = 1
baseline = { journal = "delete" }
"""


def read(folder: Path, text: str = TEXT) -> Study:
    file = folder / "study.toml"
    file.write_text(text)
    return read_study(file).study


def names(plan: Plan) -> set[str]:
    return {run.cell.levels["journal"] for run in plan.runs}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def begin(store: Store, study: Study, plan: Plan) -> None:
    with open_study_folder(store, Declared(study, plan)):
        pass


def test_the_baseline_stands_twice_in_a_study_of_more_than_an_hour(
    tmp_path: Path, store: Store
) -> None:
    study = read(tmp_path)
    short, planned = plan_study(study, store, seed=1)
    assert names(planned) == {"delete", "wal"}
    assert (short.design.twice, short.design.twice_if_long) == ({}, {})

    long, planned = plan_study(study, store, seed=1, blocks=2)
    assert planned.order == "turns"
    assert names(planned) == {"delete", "wal", "delete-again"}
    assert (long.design.twice, long.design.twice_if_long) == ({"journal": "delete"}, {})
    assert LONG_S == 3600


@pytest.mark.parametrize(
    "design", ["blocks = 2\naa = false", 'blocks = 2\norder = "runs"', "blocks = 2"]
)
def test_the_baseline_stands_once_where_the_file_or_the_order_says_so(
    tmp_path: Path, store: Store, design: str
) -> None:
    text = TEXT.replace("blocks = 1", design)
    if design == "blocks = 2":
        text = text.replace('baseline = { journal = "delete" }', "")
    _, planned = plan_study(read(tmp_path, text), store)

    assert names(planned) == {"delete", "wal"}


def test_what_was_decided_stays_however_long_a_study_becomes(tmp_path: Path, store: Store) -> None:
    study = read(tmp_path)
    begun = plan_study(study, store)
    begin(store, *begun)

    grown = plan_study(study, store, blocks=20)
    assert grown[1].fingerprint == begun[1].fingerprint
    assert (grown[1].blocks, names(grown[1])) == (20, {"delete", "wal"})
    assert "delete-again" in names(plan_study(study, store, blocks=20, again=True)[1])


def test_what_was_decided_stays_however_short_a_study_would_be_now(
    tmp_path: Path, store: Store
) -> None:
    begun = plan_study(read(tmp_path, TEXT.replace("blocks = 1", "blocks = 2")), store)
    begin(store, *begun)

    assert plan_study(read(tmp_path), store, blocks=1)[1] == begun[1]
    stored = store.study("study")
    assert stored.study.design.twice == {"journal": "delete"}


def test_longer_windows_go_on_with_a_study_in_turns(tmp_path: Path, store: Store) -> None:
    begun = plan_study(read(tmp_path), store)
    begin(store, *begun)

    text = TEXT.replace('"20 min"', '"25 min"').replace("blocks = 1", "blocks = 2")
    study, grown = plan_study(read(tmp_path, text), store)
    assert (grown.fingerprint, grown.blocks) == (begun[1].fingerprint, 2)
    assert grown.runs[:2] == begun[1].runs
    assert study.load.measure_s == 1500


def test_a_study_of_an_older_store_goes_on_by_the_name_it_has_there(
    tmp_path: Path, store: Store
) -> None:
    """Its fingerprint has the length of the window in it."""
    study, plan = plan_study(read(tmp_path), store)
    old = replace(plan, fingerprint=whole_fingerprint(study, plan.seed))
    assert old.fingerprint != plan.fingerprint
    begin(store, study, old)

    study, grown = plan_study(read(tmp_path), store, blocks=2)
    assert grown.fingerprint == old.fingerprint
    with open_study_folder(store, Declared(study, grown)) as folder:
        assert folder.stored.name == "study"


def test_blocks_that_are_there_keep_the_order_they_were_run_in(
    tmp_path: Path, store: Store
) -> None:
    study, plan = plan_study(read(tmp_path), store, blocks=2)
    runs = tuple(replace(run, position=-run.position) for run in plan.runs)
    other = replace(plan, runs=tuple(sorted(runs, key=lambda run: (run.block, run.position))))
    begin(store, study, other)

    _, grown = plan_study(read(tmp_path), store, blocks=3)
    _, anew = plan_study(read(tmp_path), store, seed=plan.seed, blocks=3, again=True)
    went_on, new, began = ([run.id for run in one.runs] for one in (grown, anew, other))
    assert went_on == [*began, *new[len(began) :]]
    assert went_on != new
    assert [run.position for run in grown.runs] == list(range(1, len(grown.runs) + 1))
