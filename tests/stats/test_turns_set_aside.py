"""Pairs of turns set aside because the processors' speed changed: what that does to verdicts on a
machine where busy programs come and go, simulated in the order of time."""

from __future__ import annotations

import numpy as np
import pytest
from test_rates import Array, at_most

from dbdyno.stats import NotComparable, changed, turns_effect

STUDIES, BLOCKS, ROUNDS = 250, 6, 12
TURN_S, CANARY_S, STEP_S = 2.35, 0.2, 0.05
BUSY = 0.5
"""Speed that is left while somebody else is busy."""
TURN_SD, CANARY_SD, BLOCK_SD, WANDER = 0.02, 0.03, 0.005, 0.01


def machine(rng: np.random.Generator, busy_s: float, quiet_s: float, length_s: float) -> Array:
    """Its speed step by step; programs come and go at exponential times of these means."""
    speed, place = np.ones(int(length_s / STEP_S) + 1), 0
    busy = rng.random() < busy_s / (busy_s + quiet_s)
    while place < speed.size:
        steps = max(1, int(rng.exponential(busy_s if busy else quiet_s) / STEP_S))
        speed[place : place + steps] = BUSY if busy else 1.0
        place, busy = place + steps, not busy
    return speed


def block(rng: np.random.Generator, speed: Array, effect: float) -> tuple[Array, list[list[float]]]:
    """ln(candidate / baseline) of each pair of turns, and the canaries around it."""
    clock_s, wander = 0.0, 0.0

    def passing(seconds: float) -> float:
        nonlocal clock_s
        begin, clock_s = clock_s, clock_s + seconds
        return float(speed[int(begin / STEP_S) : int(clock_s / STEP_S)].mean())

    def canary() -> float:
        return passing(CANARY_S) * (1 + CANARY_SD * rng.normal())

    pairs, speeds, last = [], [], canary()
    for number in range(ROUNDS):
        paces, around = [0.0, 0.0], [last]
        for side in (0, 1) if number % 4 in (0, 3) else (1, 0):
            wander += WANDER * rng.normal()
            paces[side] = np.log(passing(TURN_S)) + wander + TURN_SD * rng.normal()
            around.append(last := canary())
        pairs.append(paces[1] - paces[0] + effect)
        speeds.append(around)
    return np.array(pairs), speeds


def definite(busy_s: float, quiet_s: float, effect: float, *, setting_aside: bool) -> float:
    """Share of studies whose 95 % interval lacks "no change"."""
    rng, found = np.random.default_rng(7), 0
    for _ in range(STUDIES):
        blocks = []
        for _ in range(BLOCKS):
            length_s = CANARY_S + ROUNDS * 2 * (TURN_S + CANARY_S) + 1
            pairs, speeds = block(rng, machine(rng, busy_s, quiet_s, length_s), effect)
            if setting_aside:
                pairs = pairs[[why is None for why in changed(speeds)]]
            blocks.append(pairs + BLOCK_SD * rng.normal())
        result = turns_effect(blocks)
        if not isinstance(result, NotComparable):
            low, high = result.effect.ratio_interval
            found += not low < 1 < high
    return found / STUDIES


COMING_AND_GOING = [(5.0, 5.0), (10.0, 10.0), (5.0, 20.0), (30.0, 60.0)]


@pytest.mark.parametrize(("busy_s", "quiet_s"), COMING_AND_GOING)
def test_wrong_verdicts_stay_at_the_stated_rate(busy_s: float, quiet_s: float) -> None:
    assert definite(busy_s, quiet_s, 0.0, setting_aside=True) <= at_most(0.05, STUDIES)


@pytest.mark.parametrize(("busy_s", "quiet_s"), COMING_AND_GOING[1:3])
def test_an_effect_that_drowned_is_found(busy_s: float, quiet_s: float) -> None:
    """4 %: found in most studies, where without the rule it is found in less than half."""
    assert definite(busy_s, quiet_s, 0.04, setting_aside=True) > 0.65
    assert definite(busy_s, quiet_s, 0.04, setting_aside=False) < 0.5


def test_a_pair_says_by_how_much_the_processors_changed() -> None:
    steady, slowed = [100.0, 98.0, 90.0], [100.0, 70.0, 100.0]
    found = changed([steady, slowed, [], steady])
    assert found == (None, "the processors' speed changed by 30\u202f%", None, None)


def test_the_steadiest_quarter_stays_where_a_load_disturbs_every_pair_by_itself() -> None:
    assert changed([[100.0, 60.0]] * 8) == (None,) * 8
    found = changed([[100.0, 70.0 - number] for number in range(8)])
    assert [why is None for why in found] == [True] * 2 + [False] * 6
    assert changed([]) == ()
