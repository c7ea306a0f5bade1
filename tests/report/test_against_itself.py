"""One cell under two names: planned beside the others, judged apart, and never an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.design import cells, plan
from dbdyno.design.batches import batches
from dbdyno.errors import StudyError
from dbdyno.formats.study import read_study
from dbdyno.model import PlannedRun, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import answers, headline
from dbdyno.report.answer.limits import limits
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather

SHORT = SMALL.replace('"30 s"', '"12 s"').replace('"5 s"', '"2 s"').replace("[1, 4]", "4")
TWICE = SHORT.replace("[design]\n", "[design]\naa = true\n")


def told(folder: Path, world: World) -> Analysis:
    return analyse(gather(write_study(folder, TWICE, world), "study"))


def even(run: PlannedRun, _step: Step, _second: int) -> float:
    return 400 * (2.5 if run.cell.levels["journal"] == "wal" else 1.0)


def uneven(run: PlannedRun, step: Step, second: int) -> float:
    """Whatever comes second gets a tenth more: no study could know."""
    return even(run, step, second) * (1.1 if run.cell.levels["journal"].endswith("-again") else 1)


def the_gate(analysis: Analysis) -> Gate:
    (found,) = [gate for gate in gates(analysis) if gate.name == "A/A"]
    return found


def test_the_baseline_stands_twice_in_plan_and_turns(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TWICE)
    study = read_study(file).study
    *matrix, again = cells(study)
    assert dict(again.levels) == {
        "server": "sqlite",
        "journal": "delete-again",
        "synchronous": "full",
    }
    assert again.settings == matrix[0].settings
    planned = plan(study, seed=1, blocks=1)
    assert "b1-delete-again,full" in {run.id for run in planned.runs}
    assert [len(batch) for batch in batches(planned, planned.runs)] == [5]
    file.write_text(SHORT)
    assert plan(read_study(file).study, seed=1).fingerprint != planned.fingerprint


def test_it_is_the_machines_check_and_no_answer(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(even))
    assert len(analysis.comparisons) == 3
    assert {one.factor for one in analysis.main_effects} == {"journal", "synchronous"}
    assert not any("-again" in one.level for one in analysis.main_effects)
    assert not any("-again" in one for one in (headline(analysis), *answers(analysis)))
    gate = the_gate(analysis)
    assert gate.state == "ok"
    assert gate.text.startswith("`delete, full` against itself, delete-again, full: ")
    assert not any("no A/A arm" in limit for limit in limits(analysis))


def test_a_difference_where_there_is_none_makes_the_answer_doubtful(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(uneven))
    gate = the_gate(analysis)
    assert gate.state == "doubtful"
    assert "+10." in gate.text or "+9." in gate.text
    assert "a/a" in headline(analysis)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('baseline = { journal = "delete", synchronous = "full" }', "", "name a `baseline`"),
        ("[workload]", "[factor.journal.delete-again]\n[workload]", "for itself"),
    ],
)
def test_it_needs_a_baseline_and_a_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TWICE.replace(old, new))
    with pytest.raises(StudyError, match=message):
        read_study(file)
