"""Stalls named by what the engine did in their seconds, and not by what it always does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL
from test_sampled import sample

from dbdyno.model import PlannedRun, Sample, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.cycles import NEARLY_FULL, stalls
from dbdyno.report.charts.panels import timeline
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables

TEXT = (
    SMALL.replace('"30 s"', '"120 s"').replace('"5 s"', '"2 s"').replace("[1, 4]", "1")
).replace("blocks = 3", "blocks = 1")

SLOW = (20, 21, 22, 70, 71, 72)
CHECKPOINTS = (range(19, 25), range(69, 75))


def rate(_run: PlannedRun, _step: Step, second: int) -> float:
    return 20 if second in SLOW else 400


def during(spans: tuple[range, ...]) -> Callable[[int], bool]:
    return lambda second: any(second in span for span in spans)


def growing(busy: Callable[[int], bool], metric: str, source: str) -> World:
    """A counter that grows in the window's busy seconds, asked at each full second and a bit."""

    def samples(_run: PlannedRun) -> tuple[Sample, ...]:
        total, found = 0.0, []
        for second in range(-3, 123):
            found.append(sample(2 + second + 0.1, source, metric, total))
            total += 50.0 * busy(second)
        return tuple(found)

    return World(rate, samples=samples)


def told(folder: Path, world: World) -> Analysis:
    return analyse(gather(write_study(folder, TEXT, world), "study", every_sample=True))


def named(analysis: Analysis) -> set[str | None]:
    return {stall.cycle for *_, found in stalls(analysis) for stall in found}


def test_stalls_in_checkpoints_are_named_everywhere(tmp_path: Path) -> None:
    analysis = told(tmp_path, growing(during(CHECKPOINTS), "checkpoint_blocks", "postgresql"))

    assert named(analysis) == {"a checkpoint"}
    (gate,) = [gate for gate in gates(analysis) if gate.name == "Evenness"]
    assert "Of 8 stalls, 8 coincide with a checkpoint." in gate.text
    marks = timeline(analysis).marks["b1-delete,full"]
    (first, _) = [mark.text for mark in marks if mark.kind == "stall"]
    assert first.endswith(" % below the median; coincides with a checkpoint")
    (table,) = [table for table in tables(analysis) if table.name == "stalls"]
    assert len(table.values) == 8
    assert table.values[0][-2] == "a checkpoint"
    assert isinstance(p := table.values[0][-1], float) and 0 < p < 0.05


@pytest.mark.parametrize(
    "busy",
    [
        during((range(40, 46), range(100, 106))),
        during((range(-5, 130),)),
        lambda second: second % 2 == 0,
    ],
)
def test_what_the_engine_does_at_other_times_or_always_names_no_stall(
    tmp_path: Path, busy: Callable[[int], bool]
) -> None:
    analysis = told(tmp_path, growing(busy, "checkpoint_blocks", "postgresql"))

    assert named(analysis) == {None}
    assert all("coincide" not in gate.text for gate in gates(analysis))


def test_a_redo_log_that_is_nearly_full_is_a_cycle_only_where_its_size_is_known(
    tmp_path: Path,
) -> None:
    def samples(_run: PlannedRun) -> tuple[Sample, ...]:
        full = during(CHECKPOINTS)
        ages = ((second, 95.0 if full(second) else 40.0) for second in range(-3, 123))
        return tuple(
            sample(2 + second + 0.5, "mysql", "checkpoint_age_bytes", age) for second, age in ages
        )

    analysis = told(tmp_path, World(rate, samples=samples))
    assert named(analysis) == {None}

    assert 40 < NEARLY_FULL * 100 < 95
    for known in (
        {"innodb_redo_log_capacity": "100"},
        {"innodb_log_file_size": "50", "innodb_log_files_in_group": "2"},
        {"innodb_log_file_size": "100"},
    ):
        runs = tuple(replace(run, settings=known) for run in analysis.material.runs)
        material = replace(analysis.material, runs=runs)
        found = named(replace(analysis, material=material))
        assert found == {"flushing for room in the redo log"}


def test_rare_samples_name_nothing(tmp_path: Path) -> None:
    world = growing(during(CHECKPOINTS), "checkpoint_blocks", "postgresql")
    every = world.samples

    def rarely(run: PlannedRun) -> tuple[Sample, ...]:
        return every(run)[::10]

    assert named(told(tmp_path, replace(world, samples=rarely))) == {None}


def test_the_page_has_every_threshold_of_slow_seconds(tmp_path: Path) -> None:
    store = write_study(tmp_path, TEXT, World(rate))
    analysis = analyse(gather(store, "study"))

    (table,) = [table for table in tables(analysis) if table.name == "seconds-below"]
    columns = [column.name for column in table.columns]
    row = dict(zip(columns, table.values[0], strict=True))
    assert row["at_most_0_percent_s"] == 0
    assert row["at_most_10_percent_s"] == row["at_most_80_percent_s"] == len(SLOW)
    assert "Seconds at or below a share of the block" in page_of(store)
