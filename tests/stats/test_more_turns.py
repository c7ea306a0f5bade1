"""Studies that go on with longer blocks, decided without a look at what they found."""

import numpy as np
import pytest
from test_turns import MARGIN, NOISES, Noise, at_most, studies_of, told

from dbdyno.stats.paired import rule

Parts = tuple[tuple[int, int], ...]
STUDIES = 400


@pytest.mark.parametrize("between", [0.0, 0.02])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "parts", [((2, 5), (2, 30)), ((3, 6), (3, 24)), ((6, 20), (1, 100)), ((1, 100), (5, 6))]
)
def test_blocks_of_unequal_length_keep_the_rate_of_wrong_verdicts(
    noise: Noise, between: float, parts: Parts
) -> None:
    """`parts`: blocks and the pairs of turns that each has, first those begun with."""
    rng = np.random.default_rng([*parts[0], *parts[1]])
    drawn = [studies_of(noise, rng, STUDIES, pairs, blocks, between) for blocks, pairs in parts]
    wrong = 0
    for study in zip(*drawn, strict=True):
        effect = told(*(block for part in study for block in part)).effect
        assert effect.blocks == parts[0][0] + parts[1][0]
        changed, inside = rule(effect.log_effect, effect.standard_error, effect.degrees, MARGIN)
        wrong += bool(changed & ~inside)

    assert wrong / STUDIES <= at_most(0.05, STUDIES)


@pytest.mark.parametrize("noise", NOISES)
def test_longer_blocks_make_intervals_narrower(noise: Noise) -> None:
    """Where turns are the noise: three short blocks, then three more of five times the length."""
    rng = np.random.default_rng(3)
    short, long = (studies_of(noise, rng, STUDIES, pairs, 3, 0.0) for pairs in (6, 30))

    before = [told(*one).effect.half_width for one in short]
    after = [told(*one, *more).effect.half_width for one, more in zip(short, long, strict=True)]

    assert np.median(after) < 0.6 * np.median(before)
