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

from dbdyno.stats.distributions import normal_above, normal_percentile
from dbdyno.stats.root import root


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
        z = normal_percentile((1 + confidence) / 2)
        n, p = self.trials, self.value
        centre = p + z * z / (2 * n)
        width = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = ((centre + sign * width) / (1 + z * z / n) for sign in (-1, 1))
        # Rounding must not keep out what was found.
        return max(0.0, min(low, p)), min(1.0, max(high, p))

    def bound(self) -> tuple[float, float]:
        """What 95 % confidence leaves of the share: where none or all of `n` trials were found, all
        but 3/n (the rule of three: Hanley and Lippman-Hand, JAMA 249 (1983) 1743), else Wilson's
        interval."""
        least = min(1.0, 3 / self.trials)
        if self.found == 0:
            return 0.0, least
        return (1.0 - least, 1.0) if self.found == self.trials else self.interval()


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
        p_a, p_b = _adjusted(self.baseline), _adjusted(self.candidate)
        error = math.sqrt(variance_of_difference(self.baseline, self.candidate))
        return normal_above((margin - abs(p_b - p_a)) / error)

    method = "Fisher's exact test; Newcombe's interval"


def _adjusted(share: Share) -> float:
    """A success and a failure more: neither 0 nor 1."""
    return (share.found + 1) / (share.trials + 2)


def variance_of_difference(a: Share, b: Share) -> float:
    """Agresti and Caffo's, of the difference of two shares; above 0 where nothing was found."""
    p_a, p_b = _adjusted(a), _adjusted(b)
    return p_a * (1 - p_a) / (a.trials + 2) + p_b * (1 - p_b) / (b.trials + 2)


def difference_found(
    effect: ShareEffect, level: float, power: float
) -> tuple[float | None, float | None]:
    """How far above and below the baseline's share a candidate's must be to differ from it at
    `level` with a chance of `power`; `None`: no share is that far.

    d − c = z(1 − level/2) · √(p̄(1 − p̄)(1/n + 1/m)) + z(power) · √(p(1 − p)/n + q(1 − q)/m), with
    q = p ± d, p̄ the mean over all trials, and Yates's c = (1/n + 1/m)/2, which comes near to the
    power of Fisher's exact test (Casagrande, Pike and Smith, Biometrics 34 (1978) 483). p is the
    baseline's share after Agresti and Caffo.
    """
    z, z_power = (normal_percentile(probability) for probability in (1 - level / 2, power))
    n, m, p = effect.baseline.trials, effect.candidate.trials, _adjusted(effect.baseline)
    both = 1 / n + 1 / m

    def beyond(d: float, sign: int) -> float:
        q = p + sign * d
        mean = (n * p + m * q) / (n + m)
        chance = z * math.sqrt(mean * (1 - mean) * both)
        spread = z_power * math.sqrt(p * (1 - p) / n + q * (1 - q) / m)
        return d - both / 2 - chance - spread

    def least(sign: int, room: float) -> float | None:
        if beyond(room, sign) < 0:
            return None
        return root(lambda d: beyond(d, sign), 0.0, room)

    return least(1, 1 - p), least(-1, p)
