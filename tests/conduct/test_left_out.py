"""Cells that this machine can't run are left out and told; the others are measured."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.conduct import CellsLeftOut, Event, StudyOutcome, conduct_study, open_study
from dbdyno.conduct.planning import plan_study
from dbdyno.engine import find_engine
from dbdyno.errors import MachineError, StoreError
from dbdyno.formats.left_out import dump_left_out, left_out_sentences, parse_left_out
from dbdyno.model import LeftOut, Missing
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.answer.limits import limits
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.store import Store

pytestmark = pytest.mark.usefixtures("replay_engine")

PROGRAM = "dbdyno-test-adjust"
ASKS = f'{{ command = {{ apply = ["{PROGRAM}"], undo = ["{PROGRAM}"] }} }}'
LACKS = f"host.command: there is no program `{PROGRAM}`"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the search path; nothing is changed on this machine."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("DBDYNO_STATE", str(tmp_path / "state"))
    return folder


def asking(file: Path, *levels: str) -> Path:
    """The study with levels that ask for a command."""
    text = file.read_text()
    for level in levels:
        plain = f'{level} = {{ settings = {{ journal_mode = "{level}" }} }}'
        assert plain in text
        text = text.replace(plain, f"{plain.removesuffix(' }')}, host = {ASKS} }}")
    file.write_text(text)
    return file


def install(programs: Path) -> None:
    shutil.copy(str(shutil.which("true")), programs / PROGRAM)


def conduct(file: Path, store: Store, events: list[Event] | None = None) -> StudyOutcome:
    loaded = open_study(str(file))
    _, plan = plan_study(loaded.study, store)
    told: list[Event] = [] if events is None else events
    return conduct_study(loaded, plan, store, find_engine(), observe=told.append)


def test_a_level_that_can_not_be_applied_is_left_out_and_the_other_is_run(
    study_file: Path, store: Store
) -> None:
    events: list[Event] = []
    outcome = conduct(asking(study_file, "wal"), store, events)

    (left_out,) = outcome.left_out
    assert left_out.levels == {"server": "lite", "journal": "wal"}
    assert [missing.what for missing in left_out.missing] == [LACKS]
    assert (outcome.already, outcome.complete, outcome.failures) == (0, 1, ())
    stored = store.study("example")
    assert list(stored.runs()) == ["b1-delete"]
    assert stored.left_out == (left_out,)
    assert CellsLeftOut((left_out,)) in events


def test_the_report_says_what_was_left_out(study_file: Path, store: Store) -> None:
    conduct(asking(study_file, "wal"), store)
    analysis = analyse(gather(store.root, "example"))

    assert f"Left out: `lite, wal`, since {LACKS}." in limits(analysis)
    runs = next(gate for gate in gates(analysis) if gate.name == "Runs")
    assert (runs.state, runs.text) == (
        "doubtful",
        "1 of 1 planned runs are complete, 1 more left out: this machine can't run them.",
    )


def test_once_the_machine_can_only_what_is_missing_is_run(
    study_file: Path, store: Store, programs: Path
) -> None:
    file = asking(study_file, "wal")
    conduct(file, store)
    install(programs)
    outcome = conduct(file, store)

    assert (outcome.already, outcome.complete, outcome.left_out) == (1, 1, ())
    assert store.study("example").left_out == ()
    (programs / PROGRAM).unlink()
    outcome = conduct(file, store)
    assert (outcome.already, outcome.complete, outcome.left_out) == (2, 0, ()), "it was measured"


def test_without_any_cell_left_the_study_ends(study_file: Path, store: Store) -> None:
    with pytest.raises(MachineError) as caught:
        conduct(asking(study_file, "wal", "delete"), store)

    assert caught.value.message == LACKS
    assert caught.value.hint == f"{LACKS}: install it, or give its path"


def test_without_its_baseline_the_study_ends(study_file: Path, store: Store) -> None:
    with pytest.raises(MachineError) as caught:
        conduct(asking(study_file, "delete"), store)

    assert caught.value.message == (
        f"nothing can be compared, since the baseline (`delete`) can't be run here: {LACKS}"
    )


def test_a_study_that_compares_nothing_needs_no_baseline(study_file: Path, store: Store) -> None:
    file = asking(study_file, "delete")
    file.write_text(file.read_text().replace('baseline = { journal = "delete" }\n', ""))

    assert conduct(file, store).complete == 1


def test_run_and_check_tell_it_in_a_line(
    study_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study_file.parent)
    asking(study_file, "wal")
    told = f"left out: `lite, wal`, since {LACKS}\n  hint: install it, or give its path\n"

    assert call(["run", "example.toml", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.count(told) == 1
    assert json.loads(said.out)["left_out"] == [
        {
            "levels": {"server": "lite", "journal": "wal"},
            "missing": [{"what": LACKS, "cure": "install it, or give its path"}],
        }
    ]


def test_one_thing_that_many_cells_lack_is_told_once() -> None:
    root = Missing("host.switch: root is needed", "run as root")
    found = [LeftOut({"f": str(number)}, (root,)) for number in range(5)]

    assert list(left_out_sentences(found)) == [
        ("left out: `0`, `1`, `2`, 2 more, since host.switch: root is needed", "run as root")
    ]


def test_a_file_of_another_version_is_told(tmp_path: Path) -> None:
    file = tmp_path / "left_out.json"
    found = (LeftOut({"f": "1"}, (Missing("what", "cure"),)),)

    assert parse_left_out(dump_left_out(found), file=file) == found
    with pytest.raises(StoreError, match=r"left_out\.json: expected schema 1"):
        parse_left_out(b'{"schema": 2}', file=file)
