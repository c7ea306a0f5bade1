"""The time left, told by a clock that the test sets."""

from __future__ import annotations

from dbdyno.cli.progress import Clock
from dbdyno.conduct import RunEnded, RunStarted, StudyStarted
from dbdyno.conduct.estimate import run_time_s
from dbdyno.design import plan
from dbdyno.model import Factor, Level, Load, PlannedRun, RunManifest, Study, Workload

LOAD = Load(clients=(1,), warm_up_s=0.0, measure_s=60.0)
STUDY = Study(
    name="example",
    question="How long does it take?",
    factors=(
        Factor("server", (Level("lite", provision="sqlite"),)),
        Factor("journal", (Level("delete"), Level("wal"))),
    ),
    workload=Workload("kv_update"),
    load=LOAD,
)


class Now:
    """Seconds, as the test says."""

    s = 0.0

    def __call__(self) -> float:
        return self.s


def ended(run: PlannedRun) -> RunEnded:
    manifest = object.__new__(RunManifest)
    return RunEnded(run, manifest, (), None)


def test_runs_of_a_batch_share_their_time() -> None:
    """Two cells in turns are up for as long as both together take, and that is counted once."""
    planned = plan(STUDY, seed=1, blocks=2)
    one_s = run_time_s(planned.runs[0], LOAD)
    now = Now()
    clock = Clock(LOAD, now)
    clock.see(StudyStarted(planned, "example", planned.runs))
    assert clock.left_s == 4 * one_s

    first, second = planned.runs[:2]
    clock.see(RunStarted(first, 1))
    now.s = 5.0
    clock.see(RunStarted(second, 1))
    now.s = 2 * one_s
    assert (clock.done_s, clock.left_s) == (2 * one_s, 2 * one_s)
    clock.see(ended(first))
    assert (clock.done_s, clock.left_s) == (2 * one_s, 2 * one_s)
    clock.see(ended(second))
    assert (clock.done_s, clock.left_s) == (2 * one_s, 2 * one_s)


def test_what_runs_took_mends_what_is_left() -> None:
    planned = plan(STUDY, seed=1, blocks=1)
    now = Now()
    clock = Clock(LOAD, now)
    clock.see(StudyStarted(planned, "example", planned.runs))
    clock.see(RunStarted(planned.runs[0], 1))
    now.s = 3 * run_time_s(planned.runs[0], LOAD)
    clock.see(ended(planned.runs[0]))
    assert clock.left_s == now.s
