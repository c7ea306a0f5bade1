"""What a study of some length can see, by the noise that was measured."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import World, write_study
from test_comparisons import SHORT, turning

from dbdyno.errors import NotValidError
from dbdyno.formats.study import read_study
from dbdyno.model import PlannedRun, Step, TurnResult
from dbdyno.report.analysis.noise import Noise, noise_of
from dbdyno.stats import PairedEffect
from dbdyno.stats.paired import effect_of


def noise(within_sd: float, between_sd: float) -> Noise:
    effect = effect_of([0.0, 0.01, -0.01])
    assert isinstance(effect, PairedEffect)
    return Noise(effect, 10, within_sd, between_sd, set_up_s=10.0, turn_s=2.5)


def test_the_effect_told_is_found_four_times_in_five() -> None:
    """Simulated: blocks of 8 pairs, as many as ten minutes hold, and the t interval of their
    means."""
    within, between, pairs = 0.05, 0.02, 8
    blocks = int(600 // (10 + 2 * pairs * 2.5))
    seen = noise(within, between).smallest_effect(10, measure_s=16, turn_s=2)
    assert seen is not None
    rng = np.random.default_rng(1)
    sd = math.sqrt(between**2 + within**2 / pairs)
    found = 0
    for _ in range(2000):
        effect = effect_of(math.log1p(seen) + sd * rng.standard_normal(blocks))
        assert isinstance(effect, PairedEffect)
        low, high = effect.ratio_interval
        found += not low <= 1 <= high

    assert found / 2000 == pytest.approx(0.8, abs=0.03)


def test_longer_studies_see_more_and_noisier_machines_less() -> None:
    def told(minutes: float, within_sd: float) -> float:
        seen = noise(within_sd, 0.0).smallest_effect(minutes, measure_s=16, turn_s=2)
        assert seen is not None
        return seen

    assert told(60, 0.05) < told(10, 0.05) < told(10, 0.2)


def test_where_two_blocks_do_not_fit_nothing_is_told() -> None:
    assert noise(0.05, 0.0).smallest_effect(1.5, measure_s=16, turn_s=2) is None


def test_one_pair_a_block_tells_no_noise(tmp_path: Path) -> None:
    def once(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
        return turning(run, step)[5:7]

    text = SHORT.replace('normal = { settings = { synchronous = "normal" } }\n', "")
    store = write_study(tmp_path, text, World(lambda *_: 400, turns=once))
    study = read_study(tmp_path / "study.toml").study

    with pytest.raises(NotValidError, match=r"two pairs of turns that count \(.*was stolen"):
        noise_of(store, "study", study.design)


def test_where_too_few_turns_count_it_is_said_why(tmp_path: Path) -> None:
    def stolen(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
        return turning(run, step)[5:8] if run.block == 1 else turning(run, step)[6:7]

    text = SHORT.replace('normal = { settings = { synchronous = "normal" } }\n', "")
    store = write_study(tmp_path, text, World(lambda *_: 400, turns=stolen))
    study = read_study(tmp_path / "study.toml").study

    with pytest.raises(NotValidError) as raised:
        noise_of(store, "study", study.design)

    told = str(raised.value)
    assert "one block with 2 pairs of turns; at least 6 are needed (" in told
    assert "(pairs of turns set aside: " in told
    assert "of the processors' time was stolen)" in told
    assert raised.value.hint == "a longer --time has more, a machine at rest sets fewer aside"


def test_pairs_set_aside_took_their_time_as_well(tmp_path: Path) -> None:
    text = SHORT.replace('normal = { settings = { synchronous = "normal" } }\n', "")
    store = write_study(tmp_path, text, World(lambda *_: 400, turns=turning))
    study = read_study(tmp_path / "study.toml").study

    found = noise_of(store, "study", study.design)

    assert found.pairs == 40
    assert found.within_sd > 0
