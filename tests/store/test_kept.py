"""Stores written by earlier versions: each stays readable for ever, and says the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbdyno.errors import StoreError
from dbdyno.formats.stored_study import dump_declared, parse_declared
from dbdyno.model import Poisson, Steps
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.store import Store

KEPT = Path(__file__).parent / "kept"
"""One folder for each version of `study.json`; never changed, only added to."""

PATHS = sorted(KEPT.iterdir())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.name))
def test_every_kept_store_is_read_whole(path: Path) -> None:
    store = Store(path)
    assert store.names() == ("study",)
    survey = store.study("study").survey(whole=True)
    assert (len(survey.runs), survey.damages) == (4, ())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.name))
def test_the_resolved_study_is_what_its_file_said(path: Path) -> None:
    store = Store(path)
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


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.name))
def test_its_figures_are_the_same_as_ever(path: Path) -> None:
    store = Store(path)
    analysis = analyse(gather(store.root, "study"))
    rates = {point.label: point.spread("throughput") for point in analysis.points}
    told = {label: round(found.median, 1) for label, found in rates.items() if found}
    assert told == {"delete": 49.7, "wal": 100.2}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.name))
def test_what_the_newest_says_survives_the_next_writing(path: Path) -> None:
    store = Store(path)
    file = store.root / "study" / "study.json"
    declared = parse_declared(file.read_bytes(), file=file)
    assert parse_declared(dump_declared(declared), file=file) == declared


def test_a_study_file_of_old_that_is_damaged_is_a_store_error(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "schema-1", tmp_path / "store")
    store = Store(tmp_path / "store")
    (store.root / "study" / "study.toml").write_text("question = 1")
    with pytest.raises(StoreError, match=r"study\.toml"):
        assert store.study("study").study


def test_a_resolved_study_needs_no_parser_of_its_time(tmp_path: Path) -> None:
    newest = sorted(KEPT.iterdir())[-1]
    shutil.copytree(newest, tmp_path / "store")
    store = Store(tmp_path / "store")
    as_it_was = store.study("study").study
    (store.root / "study" / "study.toml").write_text("of = 'a time to come'")
    found = store.study("study").study
    assert (found.load, found.primary) == (as_it_was.load, as_it_was.primary)
