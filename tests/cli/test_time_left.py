"""How much is done and left, by a clock that the test sets."""

from __future__ import annotations

import random
from itertools import pairwise

from dbdyno.cli.outlook import Outlook
from dbdyno.conduct import RunEnded, RunStarted, StudyStarted
from dbdyno.conduct.estimate import run_time_s
from dbdyno.design import plan
from dbdyno.model import Factor, Level, Load, Plan, PlannedRun, RunManifest, Study, Workload

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
RUN_S = run_time_s(plan(STUDY, seed=1, blocks=1).runs[0], LOAD)


class Now:
    """Seconds, as the test says."""

    s = 0.0

    def __call__(self) -> float:
        return self.s


def ended(run: PlannedRun) -> RunEnded:
    manifest = object.__new__(RunManifest)
    return RunEnded(run, manifest, (), None)


def begun(planned: Plan, longest: Plan | None = None) -> tuple[Outlook, Now]:
    now = Now()
    outlook = Outlook(LOAD, longest, now=now)
    outlook.see(StudyStarted(planned, "example", planned.runs))
    return outlook, now


def test_runs_of_a_batch_share_their_time() -> None:
    """Two cells in turns are up for as long as both together take, and that is counted once."""
    planned = plan(STUDY, seed=1, blocks=2)
    outlook, now = begun(planned)
    first, second = planned.runs[:2]
    outlook.see(RunStarted(first, 1))
    outlook.see(RunStarted(second, 1))
    now.s = RUN_S
    assert outlook.share == 0.25
    now.s = 2 * RUN_S
    outlook.see(ended(first))
    outlook.see(ended(second))
    assert outlook.share == 0.5
    low_s, high_s = outlook.left_s
    assert low_s <= 2 * RUN_S <= high_s


def test_what_runs_took_corrects_what_is_left() -> None:
    planned = plan(STUDY, seed=1, blocks=4)
    outlook, now = begun(planned)
    for run in planned.runs[:6]:
        outlook.see(RunStarted(run, 1))
        now.s += 3 * RUN_S
        outlook.see(ended(run))
    low_s, high_s = outlook.left_s
    assert low_s <= 6 * RUN_S <= high_s
    assert high_s - low_s < 2 * RUN_S


def test_a_first_run_that_downloads_its_server_does_not_spoil_the_range() -> None:
    planned = plan(STUDY, seed=1, blocks=10)
    outlook, now = begun(planned)
    for number, run in enumerate(planned.runs[:10]):
        outlook.see(RunStarted(run, 1))
        outlook.left_s  # noqa: B018 - whoever looks during a run narrows the range.
        now.s += 5 * RUN_S if number == 0 else RUN_S
        outlook.see(ended(run))
    low_s, high_s = outlook.left_s
    assert low_s <= 10 * RUN_S <= high_s < 20 * RUN_S


def test_the_share_never_falls_and_the_range_holds_the_end_in_most_studies() -> None:
    """Runs of all lengths, of studies that the estimate is wrong of by up to a factor of 2.5."""
    chance = random.Random(7)
    kept = looks = 0
    for _ in range(50):
        planned = plan(STUDY, seed=1, blocks=5)
        outlook, now = begun(planned)
        wrong = chance.choice((0.6, 1.0, 1.5, 2.5))
        lengths_s = [RUN_S * wrong * chance.uniform(0.9, 1.15) for _ in planned.runs]
        shares, ranges = [0.0], []
        for run, length_s in zip(planned.runs, lengths_s, strict=True):
            outlook.see(RunStarted(run, 1))
            for part in (0.0, 0.4, 0.9):
                now.s = sum(lengths_s[: planned.runs.index(run)]) + part * length_s
                shares.append(outlook.share)
                low_s, high_s = outlook.left_s
                ranges.append((now.s + low_s, now.s + high_s))
            now.s = sum(lengths_s[: planned.runs.index(run) + 1])
            outlook.see(ended(run))
        shares.append(outlook.share)
        assert all(before <= after for before, after in pairwise(shares))
        assert shares[-1] == 1.0
        assert all(low_s <= high_s for low_s, high_s in ranges)
        looks += len(ranges)
        end_s = sum(lengths_s)
        kept += sum(low_s - 1e-6 <= end_s <= high_s + 1e-6 for low_s, high_s in ranges)
    assert kept / looks >= 0.8


def test_a_study_that_is_resumed_begins_where_it_ended() -> None:
    planned = plan(STUDY, seed=1, blocks=4)
    outlook = Outlook(LOAD, now=Now())
    outlook.see(StudyStarted(planned, "example", planned.runs[6:]))
    assert outlook.share == 0.75
    low_s, high_s = outlook.left_s
    assert low_s <= 2 * RUN_S <= high_s < 8 * RUN_S


def test_a_study_that_may_stop_early_counts_its_longest_plan() -> None:
    first, longest = plan(STUDY, seed=1, blocks=2), plan(STUDY, seed=1, blocks=4)
    outlook, now = begun(first, longest)
    for run in first.runs:
        outlook.see(RunStarted(run, 1))
        now.s += RUN_S
        outlook.see(ended(run))
    assert outlook.share == 0.5
    low_s, high_s = outlook.left_s
    assert low_s == 0.0
    assert high_s >= 4 * RUN_S
    further = plan(STUDY, seed=1, blocks=3)
    outlook.see(StudyStarted(further, "example", further.runs[4:]))
    assert outlook.share == 0.5
    assert outlook.left_s[1] >= 4 * RUN_S * 0.9


def test_a_run_that_takes_for_ever_moves_the_end_and_not_the_share_back() -> None:
    planned = plan(STUDY, seed=1, blocks=1)
    outlook, now = begun(planned)
    outlook.see(RunStarted(planned.runs[0], 1))
    shares = []
    for factor in range(20):
        now.s = factor * RUN_S
        shares.append(outlook.share)
        low_s, high_s = outlook.left_s
        assert 0 <= low_s <= high_s
    assert shares == sorted(shares)
    assert shares[-1] < 1.0
