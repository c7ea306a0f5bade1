"""Stores written by earlier versions: each stays readable for ever, and says the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbdyno.formats.stored_study import dump_declared, load_declared
from dbdyno.model import Poisson, Steps
from dbdyno.report.analyse import analyse
from dbdyno.report.gather import gather
from dbdyno.store import Store

KEPT = Path(__file__).parent / "kept"
"""One folder for each version of `study.json`; never changed, only added to."""


@pytest.fixture(params=sorted(KEPT.iterdir()), ids=lambda path: str(path.name))
def store(request: pytest.FixtureRequest) -> Store:
    path = request.param
    assert isinstance(path, Path)
    return Store(path)


def test_every_kept_store_is_read_whole(store: Store) -> None:
    assert store.names() == ("study",)
    survey = store.study("study").survey(whole=True)
    assert (len(survey.runs), survey.damages) == (4, ())


def test_the_resolved_study_is_what_its_file_said(store: Store) -> None:
    stored = store.study("study")
    study = stored.study
    assert study.question == "What does the journal mode cost?"
    assert (study.primary.metric, study.primary.smallest_effect) == ("p99", 0.03)
    assert study.workload.options == {"table_size": 1000, "in_one": True, "names": ["a", "b"]}
    assert study.load.arrival == Poisson(100)
    assert study.load.groups[0].arrival == Steps(((1.0, 5.0), (2.0, 10.0)))
    assert study.load.errors.rules[0].action == "retry"
    assert study.design.baseline == {"journal": "delete"}
    assert study.charts[0].title == "When"
    assert study.text.startswith("question = ")
    assert stored.plan.runs[0].cell.script == "kv_update"


def test_its_figures_are_the_same_as_ever(store: Store) -> None:
    analysis = analyse(gather(store.root, "study"))
    rates = {point.label: point.spread("throughput") for point in analysis.points}
    told = {label: round(found.median, 1) for label, found in rates.items() if found}
    assert told == {"delete": 49.7, "wal": 100.2}


def test_what_the_newest_says_survives_the_next_writing(store: Store) -> None:
    file = store.root / "study" / "study.json"
    declared = load_declared(file.read_bytes(), file=file)
    assert load_declared(dump_declared(declared), file=file) == declared


def test_a_resolved_study_needs_no_parser_of_its_time(tmp_path: Path) -> None:
    newest = sorted(KEPT.iterdir())[-1]
    shutil.copytree(newest, tmp_path / "store")
    store = Store(tmp_path / "store")
    as_it_was = store.study("study").study
    (store.root / "study" / "study.toml").write_text("of = 'a time to come'")
    found = store.study("study").study
    assert (found.load, found.primary) == (as_it_was.load, as_it_was.primary)
