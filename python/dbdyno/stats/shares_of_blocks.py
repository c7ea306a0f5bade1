"""Compares two shares block by block, for trials that are not independent: a conflict makes another
more likely, so that blocks differ by more than independent trials would.

The observation is the block: t on the differences of shares. Their standard error is at least that
of independent trials (Agresti and Caffo's variance), so that blocks which agree by chance, or in
which nothing failed, have an interval too.
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
    def degrees(self) -> int:
        """Degrees of freedom of t."""
        return self.blocks - 1

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
        """By t, within [−1, 1]."""
        reach = t_percentile((1 + confidence) / 2, self.degrees) * self.standard_error
        return max(-1.0, self.difference - reach), min(1.0, self.difference + reach)

    @cached_property
    def p(self) -> float:
        """Of no difference: two-sided t."""
        return 2 * t_above(abs(self.difference) / self.standard_error, self.degrees)

    def p_outside(self, margin: float) -> float:
        """Of a difference beyond ±`margin`: two one-sided t tests."""
        return t_above((margin - abs(self.difference)) / self.standard_error, self.degrees)

    method = "t over blocks"


def share_effect_of_blocks(
    baseline: Sequence[Share], candidate: Sequence[Share]
) -> BlockShareEffect | NotComparable:
    """The effect of paired blocks; both sides have an entry for each block."""
    if len(baseline) < 2:
        return NotComparable("one block holds no spread, so no interval can be given")
    differences = [
        ours.value - theirs.value for theirs, ours in zip(baseline, candidate, strict=True)
    ]
    return BlockShareEffect(
        _together(baseline), _together(candidate), len(baseline), differences=tuple(differences)
    )


def _together(shares: Sequence[Share]) -> Share:
    return Share(sum(share.found for share in shares), sum(share.trials for share in shares))
