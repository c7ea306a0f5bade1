"""Turns of cells that differ in script or options: one may follow the processors' speed, the other
the disk or its own growing data. Verdict rates in a machine whose neighbours come and go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_rates import Array, at_most
from test_turns_speed import BURST_S, PERIOD_S, SPEED_SD, STEP_S, TURN_S, TURN_SD, processor

from dbdyno.stats import Pairs, TurnsEffect, turns_of_blocks

BLOCK_SD = 0.02
"""Of data laid out and loaded anew, each side by itself."""
STUDIES = 150
REFERENCE_S = 40_000.0
"""So long a time of the machine holds all it does."""


def block(
    rng: np.random.Generator,
    pairs: int,
    mean_s: float,
    gains: tuple[float, float],
    growths: tuple[float, float],
    mean_logs: tuple[float, float],
) -> Pairs:
    """`gains`: by how much each side gains per gain in speed; `growths`: what a side loses in its
    whole block as its data grow. No difference in the mean over all time."""
    left, right = (processor(rng, mean_s, 2 * pairs * PERIOD_S + 1) for _ in range(2))
    begins = (np.arange(2 * pairs) * PERIOD_S / STEP_S).astype(int)
    during = (left + right)[begins[:, None] + np.arange(round(TURN_S / STEP_S))]
    every = round(BURST_S / STEP_S)
    bursts = during[:, rng.integers(every) :: every]
    seen = bursts.mean(axis=1) * (1 + SPEED_SD * rng.normal(size=2 * pairs))
    first = np.resize([0, 1, 1, 0], pairs)
    places = (2 * np.arange(pairs) + first, 2 * np.arange(pairs) + 1 - first)
    sides: list[Array] = []
    for place, gain, growth, mean_log in zip(places, gains, growths, mean_logs, strict=True):
        slower = growth * np.arange(pairs) / pairs
        slower = slower + math.log(float(np.exp(-slower).mean()))
        noise = TURN_SD * rng.normal(size=pairs) + BLOCK_SD * rng.normal()
        speed = during[place].mean(axis=1) ** gain
        sides.append(1000 * speed * np.exp(noise - slower - mean_log))
    return Pairs(sides[0], sides[1], (seen[places[0]], seen[places[1]]))


def mean_log(gain: float, mean_s: float) -> float:
    """ln of the mean rate over all time."""
    rng = np.random.default_rng(9)
    left, right = (processor(rng, mean_s, REFERENCE_S * mean_s / 10 + 400) for _ in range(2))
    return math.log(float(((left + right) ** gain).mean()))


@pytest.mark.parametrize(("blocks", "pairs"), [(3, 6), (3, 25), (6, 12)])
@pytest.mark.parametrize("mean_s", [0.1, 1.0])
@pytest.mark.parametrize(
    ("gains", "growths"),
    [((1.0, 0.3), (0.0, 0.0)), ((0.0, 1.0), (0.0, 0.2)), ((1.0, 1.0), (0.0, 0.4))],
)
def test_wrong_verdicts_stay_at_the_stated_rate(
    gains: tuple[float, float],
    growths: tuple[float, float],
    mean_s: float,
    blocks: int,
    pairs: int,
) -> None:
    rng = np.random.default_rng([blocks, pairs, int(10 * mean_s)])
    means = (mean_log(gains[0], mean_s), mean_log(gains[1], mean_s))
    wrong = 0
    for _ in range(STUDIES):
        study = [block(rng, pairs, mean_s, gains, growths, means) for _ in range(blocks)]
        judged = turns_of_blocks(study)
        assert isinstance(judged, TurnsEffect)
        wrong += judged.effect.p < 0.05

    assert wrong / STUDIES <= at_most(0.05, STUDIES)
