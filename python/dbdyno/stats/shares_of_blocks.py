"""Two shares compared over blocks, where what is counted depends on one another: of statements that
conflict, the next often does, and blocks differ by more than chance would have it.

The observation is the block: t over the differences of its shares. Blocks that agree by chance are
no more certain than independent trials would be (Agresti and Caffo's variance, which also holds
where nothing failed).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dbdyno.stats.distributions import t_above, t_percentile
from dbdyno.stats.paired import NotComparable
from dbdyno.stats.shares import Share, ShareEffect, variance_of_difference


@dataclass(frozen=True)
class BlockShareEffect(ShareEffect):
    """Like `ShareEffect`, whose shares are those of all blocks together."""

    differences: tuple[float, ...] = field(default=(), kw_only=True)
    """Candidate less baseline, block by block."""

    @property
    def difference(self) -> float:
        """The mean over blocks."""
        return float(np.mean(self.differences))

    @cached_property
    def standard_error(self) -> float:
        """Of the difference: s/√n over blocks, or that of independent trials if it is larger."""
        of_blocks = float(np.std(self.differences, ddof=1)) / math.sqrt(self.blocks)
        return max(of_blocks, math.sqrt(variance_of_difference(self.baseline, self.candidate)))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """t with a degree of freedom a block less one, within [−1, 1]."""
        reach = t_percentile((1 + confidence) / 2, self.blocks - 1) * self.standard_error
        return max(-1.0, self.difference - reach), min(1.0, self.difference + reach)

    @cached_property
    def p(self) -> float:
        """Of no difference: two-sided t."""
        return 2 * t_above(abs(self.difference) / self.standard_error, self.blocks - 1)

    def p_outside(self, margin: float) -> float:
        """Of a difference beyond ±`margin`: two one-sided t tests."""
        return t_above((margin - abs(self.difference)) / self.standard_error, self.blocks - 1)

    def found_at(self, level: float, power: float) -> float:
        """The difference that would be found at `level` with a chance of `power`."""
        degrees = self.blocks - 1
        reach = t_percentile(1 - level / 2, degrees) + t_percentile(power, degrees)
        return reach * self.standard_error

    method = "t over blocks"


def share_effect_of_blocks(
    baseline: Sequence[Share], candidate: Sequence[Share]
) -> BlockShareEffect | NotComparable:
    """The effect of paired blocks, an entry a block on both sides."""
    if len(baseline) < 2:
        return NotComparable("one block holds no spread, so no interval can be given")
    differences = [
        ours.value - theirs.value for theirs, ours in zip(baseline, candidate, strict=True)
    ]
    return BlockShareEffect(
        _together(baseline), _together(candidate), len(baseline), differences=tuple(differences)
    )


def _together(shares: Sequence[Share]) -> Share:
    return Share(sum(one.found for one in shares), sum(one.trials for one in shares))
