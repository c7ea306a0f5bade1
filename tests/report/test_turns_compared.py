"""Runs in turns: which turns are pairs, what is left out and said, what the gates make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import SECOND_NS, START_UNIX_NS, World, tables_nowhere_on, write_study

from dbdyno.design.batches import batches
from dbdyno.model import Canary, PlannedRun, Step, TurnResult
from dbdyno.model.expected import sorted_errors
from dbdyno.report import write
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.comparisons import Comparison
from dbdyno.report.answer.answer import answers
from dbdyno.report.answer.limits import limits
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.faults import faults
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables
from dbdyno.stats import NotComparable, PairedEffect

TEXT = """
question = "What does the journal mode cost?"
primary = { metric = "throughput", better = "higher", smallest_effect = "2 %" }

[server]
sqlite = { provision = "sqlite" }

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "kv_update"

[load]
clients = 4
warm_up = "2 s"
measure = "12 s"

[design]
blocks = 3
seed = 1
baseline = { journal = "delete" }
"""
ROUNDS = 8
HOUR_NS = 3600 * SECOND_NS

Turns = Callable[[PlannedRun, Step], tuple[TurnResult, ...]]


def even(_run: PlannedRun, _step: Step, _second: int) -> float:
    return 400.0


def driven(
    later_ns: Callable[[PlannedRun], int] = lambda run: HOUR_NS * run.block,
    steal_s: Callable[[PlannedRun, int], float] = lambda _run, _number: 0.0,
    over_s: float | None = 2.5,
    held_back_s: Callable[[PlannedRun, int], float | None] = lambda _run, _number: None,
    canaries: Callable[[PlannedRun, int], tuple[Canary, Canary] | None] = lambda _r, _n: None,
) -> Turns:
    """Turns of 2 s in AB BA BA AB; `wal` is 5 % faster."""

    def turns(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
        own = np.random.default_rng(run.seed).normal(0, 0.01, ROUNDS)
        wal = run.cell.levels["journal"] == "wal"
        made = []
        for number in range(ROUNDS):
            place = int(wal) if number % 4 in (0, 3) else int(not wal)
            start = START_UNIX_NS + later_ns(run) + (2 * number + place) * 3 * SECOND_NS
            before, after = canaries(run, number) or (None, None)
            events = int(8000 * (1.05 if wal else 1.0) * np.exp(own[number]))
            made.append(
                TurnResult(
                    step=step.index,
                    round=number,
                    position=place,
                    start_unix_ns=start,
                    end_unix_ns=start + 2 * SECOND_NS,
                    drained_unix_ns=start + 2 * SECOND_NS,
                    window_s=2.0,
                    events=events,
                    statements=events,
                    errors=0,
                    client_cpu_us=1,
                    turn_events=events,
                    p50_us=1.0,
                    p95_us=1.0,
                    p99_us=1.0,
                    max_us=1.0,
                    steal_s=steal_s(run, number),
                    steal_over_s=over_s,
                    held_back_s=held_back_s(run, number),
                    before=before,
                    after=after,
                )
            )
        return tuple(made)

    return turns


def told(folder: Path, turns: Turns, text: str = TEXT) -> Analysis:
    return analyse(gather(write_study(folder, text, World(even, turns=turns)), "study"))


def gate(analysis: Analysis, name: str) -> Gate:
    return next(one for one in gates(analysis) if one.name == name)


def only(analysis: Analysis) -> Comparison:
    (comparison,) = analysis.comparisons
    return comparison


def test_what_is_stolen_is_a_share_of_the_time_it_was_counted_over(tmp_path: Path) -> None:
    """Half a second of two processors: 12 % of a window of 2 s, 2.5 % of ten with the warm-up."""

    def first(_run: PlannedRun, number: int) -> float:
        return 0.5 if number == 0 else 0.0

    for name, over_s, aside in (("long", 10.0, 0), ("short", 2.5, 3), ("old", None, 3)):
        (tmp_path / name).mkdir()
        found = only(told(tmp_path / name, driven(steal_s=first, over_s=over_s)))
        assert len(found.set_aside) == aside


def test_what_is_stolen_is_a_share_of_all_processors(tmp_path: Path) -> None:
    """0.2 s in 2.5 s are 8 % of one processor and 4 % of two: the runs' machine has two."""
    found = only(told(tmp_path, driven(steal_s=lambda _run, _number: 0.2)))

    assert found.set_aside == ()


def test_a_turn_that_a_limit_held_back_is_set_aside(tmp_path: Path) -> None:
    found = only(told(tmp_path, driven(held_back_s=lambda _run, n: 1.0 if n == 1 else 0.0)))

    assert len(found.set_aside) == 3
    why = (
        "20\u202f% of the processors' time was held back by a limit of the lab's own control group"
    )
    assert all(why in one for one in found.set_aside)


def test_a_block_without_a_turn_left_is_out_and_named(tmp_path: Path) -> None:
    found = only(told(tmp_path, driven(steal_s=lambda run, _: 4.0 if run.block == 2 else 0.0)))
    assert found.blocks == (1, 3)
    assert found.left_out == {2: "all its turns were set aside"}
    effect = found.judgement.effect
    assert isinstance(effect, PairedEffect)
    assert len(effect.differences) == 2


def test_turns_that_always_share_the_processors_are_compared_and_doubtful(tmp_path: Path) -> None:
    """0.4 s in 2.5 s on two processors: 8 % in every turn."""
    analysis = told(tmp_path, driven(steal_s=lambda _run, number: 0.4 + number / 1e3))
    comparison = only(analysis)
    assert isinstance(comparison.judgement.effect, PairedEffect)
    assert comparison.blocks == (1, 2, 3)
    turns = gate(analysis, "Turns")
    assert turns.state == "doubtful"
    assert "the least disturbed quarter of each block's pairs stays" in turns.text


def test_a_comparison_without_a_turn_left_counts_in_the_gate(tmp_path: Path) -> None:
    analysis = told(tmp_path, driven(steal_s=lambda _run, _number: 4.0))
    aside = len(only(analysis).set_aside)
    turns = gate(analysis, "Turns")
    assert turns.state == "doubtful"
    assert turns.text.startswith(f"0 pairs of neighbouring turns were compared; {aside} were set")


def test_turns_of_two_attempts_are_no_pairs(tmp_path: Path) -> None:
    def later_ns(run: PlannedRun) -> int:
        again = run.block == 2 and run.cell.levels["journal"] == "wal"
        return HOUR_NS * (run.block + (20 if again else 0))

    found = only(told(tmp_path, driven(later_ns)))
    assert found.blocks == (1, 3)
    assert found.left_out == {2: "its turns were driven at two times"}


def test_cells_that_were_never_up_together_are_compared_block_by_block(tmp_path: Path) -> None:
    def later_ns(run: PlannedRun) -> int:
        return HOUR_NS * (2 * run.block + (run.cell.levels["journal"] == "wal"))

    found = only(told(tmp_path, driven(later_ns)))
    assert (found.turns, found.blocks, found.left_out) == (None, (1, 2, 3), {})
    assert isinstance(found.judgement.effect, PairedEffect)
    assert found.judgement.effect.within is None


def test_one_block_of_turns_has_an_interval_and_says_what_it_is_of(tmp_path: Path) -> None:
    analysis = told(tmp_path, driven(), TEXT.replace("blocks = 3", "blocks = 1"))
    effect = only(analysis).judgement.effect
    assert isinstance(effect, PairedEffect)
    assert (effect.blocks, len(effect.differences)) == (1, ROUNDS)
    blocks = gate(analysis, "Blocks")
    assert blocks.state == "doubtful"
    assert blocks.text == "1 block, driven in turns: what is found holds for its one set-up."
    assert not any("cannot give an interval" in limit for limit in limits(analysis))


def test_factors_by_themselves_want_more_than_one_block(tmp_path: Path) -> None:
    more = "[factor.size]\nbig = { settings = { cache_size = 9 } }\nsmall = {}\n\n[workload]"
    text = TEXT.replace("blocks = 3", "blocks = 1").replace("[workload]", more)
    (journal,) = told(tmp_path, driven(), text).main_effects
    assert isinstance(journal.judgement.effect, NotComparable)
    assert "one block holds no spread" in journal.judgement.effect.reason


def test_the_window_of_turns_is_not_told_as_one_piece(tmp_path: Path) -> None:
    window = gate(told(tmp_path, driven()), "Window")
    assert "12 s, in turns of 2 s" in window.text
    assert 'order = "runs"' in window.text


def test_no_number_of_blocks_is_said_to_bound_the_p_value(tmp_path: Path) -> None:
    assert "p-value" not in gate(told(tmp_path, driven()), "Blocks").text


def test_lead_ins_of_later_turns_are_no_warm_up(tmp_path: Path) -> None:
    analysis = told(tmp_path, driven())
    (point, _) = analysis.points
    run = analysis.material.runs[0]
    series = run.series[0]
    cut = np.array([False, False] + [True, True, True, False] * 3)
    runs = tuple(
        replace(one, series={0: replace(series, measured=cut)}) for one in analysis.material.runs
    )
    again = analyse(replace(analysis.material, runs=runs)).points[0]
    assert {figures.warm_up_intervals for figures in point.blocks} == {2}
    assert {figures.warm_up_intervals for figures in again.blocks} == {2}
    assert {figures.warm_up.intervals for figures in again.blocks} == {2 + 9}


@pytest.mark.parametrize("seed", range(4))
def test_batches_are_carried_out_one_after_another_and_that_is_the_order(
    tmp_path: Path, seed: int
) -> None:
    """Runs of a block are drawn in one order; those that are up together come together."""
    text = TEXT.replace('"kv_update"', '["kv_update", "kv_read"]').replace(
        "seed = 1", f"seed = {seed}"
    )
    analysis = told(tmp_path, driven(), text)
    plan = analysis.material.plan
    planned = [run.id for batch in batches(plan, plan.runs) for run in batch]
    assert len(batches(plan, plan.runs)) == 6
    began = {name: float(place) for place, name in enumerate(planned)}
    runs = tuple(
        replace(run, manifest=replace(run.manifest, started_unix_s=began[run.manifest.id]))
        for run in analysis.material.runs
    )
    order = gate(replace(analysis, material=replace(analysis.material, runs=runs)), "Order")
    assert (order.state, "in balanced orders" in order.text) == ("ok", True)
    mixed = tuple(
        replace(run, manifest=replace(run.manifest, started_unix_s=-run.manifest.started_unix_s))
        for run in runs
    )
    order = gate(replace(analysis, material=replace(analysis.material, runs=mixed)), "Order")
    assert order.state == "doubtful"


def test_a_tool_fails_by_its_operations(tmp_path: Path) -> None:
    """A tool tells events and no statements: three errors in a million operations are few."""
    run = told(tmp_path, driven()).material.runs[0]
    summary = replace(run.summaries[0], generator="fio", statements=0, events=1_000_000, errors=3)
    assert faults(run, summary, sorted_errors(summary, {})) == ()
    many = replace(summary, errors=1_000)
    reasons = faults(run, many, sorted_errors(many, {}))
    assert reasons == ("0.1 % of its operations failed",)


def test_left_out_blocks_stand_in_the_sentence(tmp_path: Path) -> None:
    more = TEXT.replace("clients = 4", "clients = [4, 8]")
    analysis = told(tmp_path, driven(steal_s=lambda run, _: 4.0 * (run.block == 2)), more)
    assert any("Left out: block 2: all its turns" in one for one in answers(analysis))


def speed(spin: float) -> Canary:
    return Canary(spin=spin, copy=9e9, fsync=900.0, round_trip=8e4)


def test_a_pair_of_turns_between_which_the_processors_slowed_down_is_set_aside(
    tmp_path: Path,
) -> None:
    """The machine loses a quarter of its speed before the last turn of round 3, and has it again
    after round 5: both of those rounds differ within themselves, the one between does not."""

    def canaries(run: PlannedRun, number: int) -> tuple[Canary, Canary]:
        last = run.cell.levels["journal"] == "wal"
        slow_before = number == 4 or (number == 5 and not last)
        slow_after = (number == 3 and last) or number == 4
        return speed(15e3 if slow_before else 20e3), speed(15e3 if slow_after else 20e3)

    analysis = told(tmp_path, driven(canaries=canaries))

    found = only(analysis)
    assert [one for one in found.set_aside if one.startswith("block 1")] == [
        "block 1, round 4: the processors' speed changed by 25\u202f%",
        "block 1, round 6: the processors' speed changed by 25\u202f%",
    ]
    assert "6 were set aside" in gate(analysis, "Turns").text


def test_the_table_of_canaries_tells_how_the_machine_was_and_what_went_along(
    tmp_path: Path,
) -> None:
    def canaries(run: PlannedRun, number: int) -> tuple[Canary, Canary]:
        wal = run.cell.levels["journal"] == "wal"
        return speed(20e3 + 100 * number + wal), speed(20e3 + 100 * number + wal)

    store = write_study(tmp_path, TEXT, World(even, turns=driven(canaries=canaries)))
    found = {table.name: table for table in tables(analyse(gather(store, "study")))}

    assert tables_nowhere_on(write(store, "study", tmp_path / "out", pictures=False).page) == []
    processors, *others = found["canaries"].values
    assert processors[:3] == ("processors", "checksums of 256 KiB", 16)
    assert processors[3] == pytest.approx(20350.5)
    assert isinstance(processors[6], float)
    assert [each[0] for each in others] == ["memory", "disk", "loopback"]
    assert all(each[6] is None for each in others), "what does not vary goes along with nothing"


def test_turns_without_canaries_have_no_table_of_them(tmp_path: Path) -> None:
    assert "canaries" not in {table.name for table in tables(told(tmp_path, driven()))}
