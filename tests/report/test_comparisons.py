"""Who is compared with whom: factors by themselves, turns, ticks where effects lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_up_runs import START_UNIX_NS, World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, Step, TurnResult
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import answers
from dbdyno.report.charts.effects import effect_ticks
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables
from dbdyno.stats import PairedEffect, Verdict

SHORT = SMALL.replace('"30 s"', '"12 s"').replace('"5 s"', '"2 s"').replace("[1, 4]", "4")


def told(folder: Path, text: str, world: World) -> Analysis:
    return analyse(gather(write_study(folder, text, world), "study"))


def interacting(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` brings 20 % with `full` and 60 % with `normal`; `normal` alone brings nothing."""
    if run.cell.levels["journal"] != "wal":
        return 400.0
    return 400 * (1.2 if run.cell.levels["synchronous"] == "full" else 1.6)


def test_each_factor_is_told_by_itself_and_what_it_depends_on(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT.replace("blocks = 3", "blocks = 4"), World(interacting))
    journal, synchronous = analysis.main_effects
    assert (journal.factor, journal.level, journal.baseline) == ("journal", "wal", "delete")
    assert {(p.point.label, p.baseline.label) for p in journal.pairs} == {
        ("wal, full", "delete, full"),
        ("wal, normal", "delete, normal"),
    }
    effect = journal.judgement.effect
    assert isinstance(effect, PairedEffect)
    assert effect.ratio == pytest.approx((1.2 * 1.6) ** 0.5, rel=0.02)
    assert journal.judgement.verdict is Verdict.BETTER
    assert journal.depends
    assert synchronous.depends
    said = " ".join(answers(analysis))
    assert "journal by itself, wal against delete: faster" in said
    assert "It depends on the others: +" in said


def test_without_an_interaction_none_is_told(tmp_path: Path) -> None:
    def plain(run: PlannedRun, step: Step, second: int) -> float:
        return 400 * (1.2 if run.cell.levels["journal"] == "wal" else 1.0)

    analysis = told(tmp_path, SHORT, World(plain))
    assert [one.depends for one in analysis.main_effects] == [False, False]
    assert analysis.main_effects[1].judgement.verdict is not Verdict.BETTER


def test_a_single_factor_has_no_table_of_its_own(tmp_path: Path) -> None:
    text = SHORT.replace('normal = { settings = { synchronous = "normal" } }\n', "")
    analysis = told(tmp_path, text, World(interacting))
    assert analysis.main_effects == ()
    assert "main-effects" not in {table.name for table in tables(analysis)}


def turning(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
    """Forty turns of 2 s; the machine wanders, `wal` is 5 % faster, round 7 is stolen from."""
    wander = np.cumsum(np.random.default_rng([run.block, step.index]).normal(0, 0.03, 40))
    own = np.random.default_rng([run.seed]).normal(0, 0.02, 40)
    factor = 1.05 if run.cell.levels["journal"] == "wal" else 1.0
    rates = 400 * factor * np.exp(wander + own)
    return tuple(
        TurnResult(
            step=step.index,
            round=place,
            position=0,
            start_unix_ns=START_UNIX_NS,
            end_unix_ns=START_UNIX_NS + 2_000_000_000,
            drained_unix_ns=START_UNIX_NS + 2_000_000_000,
            window_s=2.0,
            events=int(2 * rate) if place != 6 else 5,
            statements=int(20 * rate),
            errors=0,
            client_cpu_us=1,
            turn_events=1,
            p50_us=1.0,
            p95_us=1.0,
            p99_us=1.0,
            max_us=1.0,
            steal_s=3.0 if place == 6 and factor > 1 else 0.0,
        )
        for place, rate in enumerate(rates)
    )


def test_turns_of_neighbours_find_what_whole_runs_do_not(tmp_path: Path) -> None:
    def noisy(run: PlannedRun, step: Step, second: int) -> float:
        return 400 * float(np.exp(np.random.default_rng(run.seed).normal(0, 0.2)))

    (tmp_path / "runs").mkdir()
    (tmp_path / "turns").mkdir()
    by_runs = told(tmp_path / "runs", SHORT, World(noisy))
    assert not any(c.judgement.verdict.definite for c in by_runs.comparisons)

    analysis = told(tmp_path / "turns", SHORT, World(noisy, turns=turning))
    wal = [c for c in analysis.comparisons if "wal" in c.point.label]
    assert {c.judgement.verdict for c in wal} == {Verdict.BETTER}
    for comparison in wal:
        assert comparison.turns is not None
        assert comparison.turns.turns == (39, 39, 39)
        assert len(comparison.set_aside) == 3
        assert "round 7: 75\u202f% of the processors' time was stolen" in comparison.set_aside[0]
    (gate,) = [gate for gate in gates(analysis) if gate.name == "Turns"]
    assert (gate.state, "were set aside by the rule fixed beforehand" in gate.text) == ("ok", True)
    assert "<h2>Noise</h2>" in page_of(tmp_path / "turns" / "store")


def test_factors_by_themselves_are_no_surer_than_their_turns(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(interacting, turns=turning))
    for one in analysis.main_effects:
        effect = one.judgement.effect
        pairs = [pair.judgement.effect for pair in one.pairs]
        assert isinstance(effect, PairedEffect)
        assert effect.within is not None
        variances = [e.within.variance for e in pairs if isinstance(e, PairedEffect) and e.within]
        assert effect.within.variance == pytest.approx(sum(variances) / 4)
        assert effect.log_sd >= effect.within.least_sd(3) > 0


def test_one_block_of_turns_answers_for_its_set_up_only(tmp_path: Path) -> None:
    text = SHORT.replace("blocks = 3", "blocks = 1")
    analysis = told(tmp_path, text, World(interacting, turns=turning))
    wal = next(c for c in analysis.comparisons if c.point.label == "wal, full")
    assert wal.turns is not None
    assert wal.turns.one_set_up
    assert any("It holds for this one set-up." in answer for answer in answers(analysis))


@pytest.mark.parametrize(
    ("domain", "ticks"),
    [
        ([0.97, 1.045], [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04]),
        ([0.84, 1.06], [0.85, 0.9, 0.95, 1.0, 1.05]),
        ([0.5, 2.5], [0.5, 1.0, 2.0]),
        ([0.9, 26.0], [1.0, 2.0, 5.0, 10.0, 20.0]),
    ],
)
def test_ticks_stand_where_the_effects_lie(domain: list[float], ticks: list[float]) -> None:
    found = effect_ticks(domain)
    assert found == pytest.approx(ticks)
    assert 1.0 in found
