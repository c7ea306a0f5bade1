"""Shares of trials: Wilson's interval of one, Newcombe's of the difference of two.

Wilson, JASA 22 (1927) 209; Newcombe, Statistics in Medicine 17 (1998) 873, method 10; Agresti and
Caffo, The American Statistician 54 (2000) 280. All of them hold where a share is 0 or 1, which a
ratio does not.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many independent trials."""

    found: int
    trials: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.found / self.trials

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's score interval."""
        z = float(scipy.stats.norm.ppf((1 + confidence) / 2))
        n, p = self.trials, self.value
        centre = p + z * z / (2 * n)
        width = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = ((centre + sign * width) / (1 + z * z / n) for sign in (-1, 1))
        # Rounding must not keep out what was found.
        return max(0.0, min(low, p)), min(1.0, max(high, p))


@dataclass(frozen=True)
class ShareEffect:
    """What a candidate's share is beyond its baseline's, in parts of one."""

    baseline: Share
    candidate: Share
    blocks: int

    @property
    def difference(self) -> float:
        """Candidate less baseline."""
        return self.candidate.value - self.baseline.value

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Newcombe's, from Wilson's intervals of both."""
        a, b = self.baseline, self.candidate
        (low_a, high_a), (low_b, high_b) = a.interval(confidence), b.interval(confidence)
        below = math.hypot(b.value - low_b, high_a - a.value)
        above = math.hypot(high_b - b.value, a.value - low_a)
        return max(-1.0, self.difference - below), min(1.0, self.difference + above)

    @cached_property
    def p(self) -> float:
        """Of no difference: Fisher's exact test, two-sided."""
        a, b = self.baseline, self.candidate
        table = [[a.found, a.trials - a.found], [b.found, b.trials - b.found]]
        return float(scipy.stats.fisher_exact(np.array(table)).pvalue)

    def p_outside(self, margin: float) -> float:
        """Of a difference beyond ±`margin`: two one-sided tests after Agresti and Caffo."""
        shares = [
            ((one.found + 1) / (one.trials + 2), one.trials + 2)
            for one in (self.baseline, self.candidate)
        ]
        (p_a, n_a), (p_b, n_b) = shares
        error = math.sqrt(p_a * (1 - p_a) / n_a + p_b * (1 - p_b) / n_b)
        return float(scipy.stats.norm.sf((margin - abs(p_b - p_a)) / error))

    method = "Fisher's exact test; Newcombe's interval"
