"""A study in turns, for real: cells up together, driven alternately, nothing counted twice."""

from __future__ import annotations

import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from product import LIMIT_S, start, under_load, wait_until

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.store import Store, StoredRun
from dbdyno.store.turns import from_parquet

STUDY = """\
question = "Is a server faster than itself?"

[server.one]
provision = "postgresql@system"

[server.two]
provision = "postgresql@system"

[workload]
script = "oltp_point_select"
options = { tables = 1, table_size = 1000 }

[load]
clients = [4]
warm_up = "500 ms"
measure = "2 s"

[design]
blocks = 1
turn = "500 ms"
lead_in = "100 ms"
baseline = { server = "one" }
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    folder = tmp_path_factory.mktemp("turns")
    file = folder / "turns.toml"
    file.write_text(STUDY)
    loaded = open_study(str(file))
    made = plan(loaded.study, seed=5)
    store = Store(folder / "store")
    assert made.order == "turns"
    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)
    assert outcome.failures == ()
    return dict(store.study("turns").runs())


@pytest.mark.slow
def test_turns_of_both_cells_alternate_and_never_overlap(runs: dict[str, StoredRun]) -> None:
    turns = sorted(
        (turn.start_unix_ns, turn.drained_unix_ns, turn.round, name)
        for name, run in runs.items()
        for turn in from_parquet(run.read("turns.parquet"))
    )

    assert len(turns) == 8
    assert all(before[1] <= after[0] for before, after in pairwise(turns))
    assert [turn[2] for turn in turns] == [0, 0, 1, 1, 2, 2, 3, 3]
    for number in range(4):
        assert len({turn[3] for turn in turns if turn[2] == number}) == 2


@pytest.mark.slow
def test_canaries_run_between_turns_and_not_after_every_short_one(
    runs: dict[str, StoredRun],
) -> None:
    turns = sorted(
        (turn for run in runs.values() for turn in from_parquet(run.read("turns.parquet"))),
        key=lambda turn: turn.start_unix_ns,
    )

    assert turns[0].before is not None
    assert all(before.after == after.before for before, after in pairwise(turns))
    assert 1 <= sum(turn.after is not None for turn in turns) < len(turns)


@pytest.mark.slow
def test_the_processors_speed_is_measured_in_each_turn(runs: dict[str, StoredRun]) -> None:
    speeds = [turn.speed for run in runs.values() for turn in run.turns]
    assert all(speed is not None and speed > 0 for speed in speeds)


@pytest.mark.slow
def test_the_lab_is_counted_in_a_cell_s_own_turns_and_not_in_canaries(
    runs: dict[str, StoredRun],
) -> None:
    """Canaries keep all processors busy, but in pauses."""
    canaries_s = 0.2
    for run in runs.values():
        turns = from_parquet(run.read("turns.parquet"))
        loaded_s = sum(turn.drained_unix_ns - turn.start_unix_ns for turn in turns) / 1e9
        (step,) = [phase for phase in run.manifest.phases if phase.name == "step 0"]
        lab = run.manifest.lab
        assert lab is not None
        assert loaded_s < lab.wall_s < (step.end_unix_s - step.start_unix_s) / 2 + canaries_s


@pytest.mark.slow
def test_the_summary_is_the_sum_of_the_turns(runs: dict[str, StoredRun]) -> None:
    for run in runs.values():
        turns = from_parquet(run.read("turns.parquet"))
        (summary,) = run.summaries
        assert summary.events == sum(turn.events for turn in turns) > 0
        assert summary.window_s == pytest.approx(sum(turn.window_s for turn in turns))
        assert summary.errors == 0


@pytest.mark.slow
def test_what_the_server_counted_is_what_the_turns_did(runs: dict[str, StoredRun]) -> None:
    for run in runs.values():
        turns = from_parquet(run.read("turns.parquet"))
        kept: Any = run.manifest.server["counters"]
        (counters,) = kept
        committed = counters["after"]["xact_commit"] - counters["before"]["xact_commit"]
        done = sum(turn.turn_events for turn in turns)
        assert done <= committed <= done + 50, "connecting and preparing are all that is beside"


@pytest.mark.slow
def test_each_run_names_those_it_was_up_with(runs: dict[str, StoredRun]) -> None:
    for run in runs.values():
        assert set(run.manifest.batch) == set(runs)


@pytest.mark.slow
def test_ctrl_c_within_a_turn_keeps_what_every_cell_has_measured(tmp_path: Path) -> None:
    (tmp_path / "cut.toml").write_text(STUDY.replace('measure = "2 s"', 'measure = "60 s"'))
    folder = tmp_path / "results/cut/runs"
    with start("run", "cut.toml", folder=tmp_path) as process:
        # Lead-in and window of a turn are intervals of their own.
        wait_until("both have had a turn", lambda: under_load(folder, intervals=3) == 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)

    assert process.returncode == 130, err
    for name in ("b1-one", "b1-two"):
        manifest = json.loads((folder / name / "manifest.json").read_text())
        (summary,) = json.loads((folder / name / "summary.json").read_text())
        assert manifest["status"] == "interrupted"
        assert summary["events"] > 0
