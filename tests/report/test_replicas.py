"""Replicas that fall behind make a report doubtful; without replicas nothing is said of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL
from test_sampled import sample

from dbdyno.model import PlannedRun, Sample, Step
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather


def rate(_run: PlannedRun, _step: Step, _second: int) -> float:
    return 400


def judged(folder: Path, late_s: Callable[[float], float] | None) -> list[Gate]:
    """How replicas are judged that are so late so many seconds after the load began."""

    def samples(_run: PlannedRun) -> tuple[Sample, ...]:
        if late_s is None:
            return ()
        return tuple(
            sample(second + 0.5, "replication", "lag_s", late_s(second), name)
            for second in range(40)
            for name in ("replica-1", "replica-2")
        )

    store = write_study(folder, SMALL, World(rate, samples=samples))
    every = gates(analyse(gather(store, "study")))
    return [gate for gate in every if gate.name == "Replicas"]


def test_one_server_has_no_replicas_to_judge(tmp_path: Path) -> None:
    assert judged(tmp_path, None) == []


@pytest.mark.parametrize("late_s", [lambda _: 0.02, lambda _: 30.0, lambda at: 0.02 * at])
def test_replicas_that_keep_their_distance_keep_up(
    tmp_path: Path, late_s: Callable[[float], float]
) -> None:
    (gate,) = judged(tmp_path, late_s)

    assert gate.state == "ok"


def test_a_replica_that_falls_behind_is_named(tmp_path: Path) -> None:
    (gate,) = judged(tmp_path, lambda at: 0.5 * at)

    assert gate.state == "doubtful"
    assert gate.text.startswith("In 12 of 12 runs a replica fell behind: replica-")
