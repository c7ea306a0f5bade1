"""Trials in a report: counts with intervals, and verdicts on shares of which some are zero."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study

from dbdyno.model import PlannedRun
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.answer.answer import headline
from dbdyno.report.answer.first import first_answer
from dbdyno.report.charts import charts
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.outcomes import outcome_tables
from dbdyno.stats import Share, Verdict

STUDY = """
question = "Is damage noticed?"
primary = { metric = "silently_wrong_share", smallest_effect = "10 %" }
answer = "{candidate} against {baseline}: {effect} ({interval})."

[server]
without = { provision = "sqlite" }
with = { provision = "sqlite", settings = { journal_mode = "wal" } }

[workload]
generator = "damage"

[load]
clients = 1
events = 10

[design]
blocks = 3
baseline = { server = "without" }
"""


def outcomes(run: PlannedRun) -> Mapping[str, int]:
    """Six, five and four of ten go unseen without, none with."""
    wrong = 7 - run.block if run.cell.levels["server"] == "without" else 0
    return {"reported": 10 - wrong, "silently wrong": wrong}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write_study(tmp_path, STUDY, World(lambda *_: 100.0, outcomes=outcomes))


def test_trials_of_all_blocks_are_one_sample_and_zero_is_a_share(store: Path) -> None:
    analysis = analyse(gather(store, "study"))
    (comparison,) = analysis.comparisons

    assert comparison.judgement.verdict is Verdict.BETTER
    assert "with against without: −50\u202fpoints (−67" in headline(analysis)
    assert {gate.name: gate.state for gate in gates(analysis)}["Trials"] == "ok"


def test_an_open_question_says_which_difference_would_have_been_found(tmp_path: Path) -> None:
    def alike(run: PlannedRun) -> Mapping[str, int]:
        return {"reported": 5, "silently wrong": 5}

    world = World(lambda *_: 100.0, outcomes=alike)
    said = headline(analyse(gather(write_study(tmp_path, STUDY, world), "study")))
    # Two shares of a half of 30 trials each: Fisher's test has 82 % for 37 points.
    assert "Smallest difference that this run could reliably detect: 37\u202fpoints." in said


def test_a_study_may_lead_with_a_list_of_its_levels_shares(tmp_path: Path) -> None:
    leads = 'leads = { factor = "server", levels = ["with", "without"], name = "Wrong rows" }'
    store = write_study(tmp_path, f"{leads}\n{STUDY}", World(lambda *_: 100.0, outcomes=outcomes))

    analysis = analyse(gather(store, "study"))
    sentence = "Wrong rows: none of 30 trials with with; 15 of 30 with without."
    assert sentence in headline(analysis)
    assert first_answer(analysis).answer == sentence


def test_levels_without_a_trial_are_named(tmp_path: Path) -> None:
    leads = 'leads = { factor = "server", levels = ["without", "with"], name = "Wrong rows" }'
    text = f"{leads}\n{STUDY}"
    plain = write_study(tmp_path, text, World(lambda *_: 100.0, outcomes=outcomes))
    runs = [run.manifest for run in gather(plain, "study").runs]
    failed = {run.id: "failed" for run in runs if run.cell["server"] == "with"}
    (tmp_path / "again").mkdir()
    world = World(lambda *_: 100.0, outcomes=outcomes, status=failed)  # type: ignore[arg-type]
    store = write_study(tmp_path / "again", text, world)

    answer = headline(analyse(gather(store, "study")))
    assert "Wrong rows: 15 of 30 trials with without; not measured with with." in answer


def test_the_outcome_that_decides_stands_first(store: Path) -> None:
    counts, differences = outcome_tables(analyse(gather(store, "study")))

    assert [column.name for column in counts.columns[:4]] == [
        "cell",
        "trials",
        "silently_wrong",
        "silently_wrong_share_95",
    ]
    assert [row[:3] for row in counts.values] == [("without", 30, 15), ("with", 30, 0)]
    assert counts.rows[1][3] == "0 to 11"
    assert [row[-1] for row in differences.rows] == ["better (lower)"]


def test_the_page_shows_them_and_no_pace_that_trials_have_not(store: Path) -> None:
    page = page_of(store)

    assert "Outcomes" in page
    assert "differences of shares" in page
    assert "<h2>Throughput</h2>" not in page


def test_the_chart_has_every_cell_s_share_with_its_interval(store: Path) -> None:
    picture, chart = charts(analyse(gather(store, "study")))
    assert [(row["value"], row["low"], row["high"]) for row in picture.rows] == [
        (0.5, *Share(15, 30).interval()),
        (0.0, *Share(0, 30).interval()),
    ]

    names = ("cell", "found", "trials", "share", "low", "high")
    assert [tuple(row[name] for name in names) for row in chart.rows] == [
        ("without", 15, 30, 0.5, *Share(15, 30).interval()),
        ("with", 0, 30, 0.0, *Share(0, 30).interval()),
    ]


def test_an_outcome_that_no_trial_had_takes_no_column(tmp_path: Path) -> None:
    never = World(lambda *_: 100.0, outcomes=lambda run: {**outcomes(run), "repaired": 0})
    counts, _ = outcome_tables(analyse(gather(write_study(tmp_path, STUDY, never), "study")))

    assert "repaired" not in [column.name for column in counts.columns]
