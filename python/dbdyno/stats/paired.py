"""The effect of a candidate against its baseline, from one value per block and side.

The independent unit is the block, not the second and not the event: values inside a run depend on
one another, so treating them as separate observations would make every difference "significant".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

BOOTSTRAP_FROM = 8
"""Blocks from which the bootstrap-t replaces the t interval: fewer give too few resamples."""

RESAMPLES = 10_000
EXACT_UP_TO = 16
"""Blocks up to which all 2^n sign flips are enumerated."""

RANDOM_FLIPS = 99_999


@dataclass(frozen=True, slots=True)
class NotComparable:
    """Why a statistic can't be given. A value to print, never a verdict."""

    reason: str


@dataclass(frozen=True, slots=True)
class PairedEffect:
    """Candidate over baseline, in logarithms; `effect` and friends give plain ratios."""

    differences: tuple[float, ...]
    """ln(candidate / baseline), one a block."""
    log_effect: float
    """Mean of the differences."""
    log_sd: float
    """Standard deviation of the differences (n − 1)."""
    low95: float
    high95: float
    """95 % interval of `log_effect`."""
    low90: float
    high90: float
    """90 % interval of `log_effect`, for the equivalence test."""
    p: float
    """Two-sided sign-flip p-value, (0, 1]."""
    method: str
    """`t` or `bootstrap-t`."""

    @property
    def blocks(self) -> int:
        """Pairs compared."""
        return len(self.differences)

    @property
    def ratio(self) -> float:
        """Candidate over baseline: 1 is no change, 2 is twice."""
        return math.exp(self.log_effect)

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """95 % interval of `ratio`."""
        return math.exp(self.low95), math.exp(self.high95)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided t tests against ±margin (TOST)."""

    margin: float
    """Largest |ln ratio| that doesn't matter."""
    p: float
    """The larger of the two one-sided p-values."""


def log_ratios(baseline: Sequence[float], candidate: Sequence[float]) -> Array | NotComparable:
    """ln(candidate / baseline), block by block. Values must be paired, finite and above zero."""
    before = np.asarray(baseline, dtype=np.float64)
    after = np.asarray(candidate, dtype=np.float64)
    if before.shape != after.shape or before.ndim != 1:
        return NotComparable(f"{before.size} baseline blocks and {after.size} candidate blocks")
    if before.size == 0:
        return NotComparable("no block has both sides")
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return NotComparable("a block has a value that isn't finite")
    if (before <= 0).any() or (after <= 0).any():
        return NotComparable("a block has a value that isn't above zero, so no ratio exists")
    ratios: Array = np.log(after / before)
    return ratios


def paired_effect(
    baseline: Sequence[float], candidate: Sequence[float], *, seed: int = 0
) -> PairedEffect | NotComparable:
    """Geometric effect with intervals and an exact test.

    d_i = ln(b_i / a_i), θ = mean(d), s = sd(d, n − 1).
    n < 8: θ ± t(n−1) · s/√n. n ≥ 8: bootstrap-t with 10,000 resamples from `seed`:
    [θ − q(.975) · s/√n, θ − q(.025) · s/√n], q of t*_b = (mean(d*) − θ) / (s*/√n).
    Efron and Tibshirani, An Introduction to the Bootstrap, 12.5. Two blocks are the least; equal
    differences give `NotComparable`, since they hold no spread to judge by.
    """
    differences = log_ratios(baseline, candidate)
    if isinstance(differences, NotComparable):
        return differences
    n = differences.size
    if n < 2:
        return NotComparable("one block holds no spread, so no interval can be given")
    theta = float(differences.mean())
    sd = float(differences.std(ddof=1))
    if sd <= 1e-15 * max(1.0, abs(theta)):
        return NotComparable("every block gave exactly the same ratio: no spread to judge by")
    scale = sd / math.sqrt(n)
    if n < BOOTSTRAP_FROM:
        method = "t"
        upper = float(scipy.stats.t.ppf(0.975, n - 1)), float(scipy.stats.t.ppf(0.95, n - 1))
        lower = -upper[0], -upper[1]
    else:
        method = "bootstrap-t"
        t_star = _bootstrap_t(differences, seed)
        low_975, low_95, high_95, high_975 = np.quantile(t_star, [0.025, 0.05, 0.95, 0.975])
        upper = float(high_975), float(high_95)
        lower = float(low_975), float(low_95)
    return PairedEffect(
        differences=tuple(float(d) for d in differences),
        log_effect=theta,
        log_sd=sd,
        low95=theta - upper[0] * scale,
        high95=theta - lower[0] * scale,
        low90=theta - upper[1] * scale,
        high90=theta - lower[1] * scale,
        p=sign_flip_p(differences, seed=seed),
        method=method,
    )


def _bootstrap_t(differences: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    n = differences.size
    resamples = differences[rng.integers(0, n, size=(RESAMPLES, n))]
    spreads = resamples.std(axis=1, ddof=1)
    kept = spreads > 1e-12 * differences.std(ddof=1)
    deviations = resamples[kept].mean(axis=1) - differences.mean()
    t_star: Array = deviations / (spreads[kept] / math.sqrt(n))
    return t_star


def sign_flip_p(differences: ArrayLike, *, seed: int = 0) -> float:
    """Two-sided p-value of "the differences are symmetric around 0", by flipping their signs.

    n ≤ 16: exact over all 2^n flips, so the smallest possible value is 2 / 2^n (n = 6: 0.03125).
    More: (1 + #extreme) / (1 + 99,999) with random flips from `seed`. Fisher, The Design of
    Experiments, 1935, section 21.
    """
    d = np.asarray(differences, dtype=np.float64)
    n = d.size
    if n == 0:
        return 1.0
    threshold = abs(float(d.sum())) * (1 - 1e-12)
    if n <= EXACT_UP_TO:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = np.abs((1 - 2 * bits) @ d)
        return float(np.count_nonzero(sums >= threshold)) / float(2**n)
    rng = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, RANDOM_FLIPS, 10_000):
        rows = min(10_000, RANDOM_FLIPS - start)
        signs = rng.choice(np.array([-1.0, 1.0]), size=(rows, n))
        extreme += int(np.count_nonzero(np.abs(signs @ d) >= threshold))
    return (1 + extreme) / (1 + RANDOM_FLIPS)


def tost_p(differences: ArrayLike, margin: float) -> Equivalence | NotComparable:
    """Two one-sided t tests that the mean lies inside (−margin, margin).

    p = max(P(T ≥ (θ + m)/(s/√n)), P(T ≤ (θ − m)/(s/√n))). p < 0.05 means the same as "the 90 % t
    interval lies inside the margin". Schuirmann, 1987.
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2 or d.std(ddof=1) == 0:
        return NotComparable("no spread to judge by")
    scale = float(d.std(ddof=1)) / math.sqrt(d.size)
    mean = float(d.mean())
    above = float(scipy.stats.t.sf((mean + margin) / scale, d.size - 1))
    below = float(scipy.stats.t.cdf((mean - margin) / scale, d.size - 1))
    return Equivalence(margin=margin, p=max(above, below))


def blocks_needed(log_sd: float, margin: float) -> int:
    """Blocks a paired comparison needs to see `margin` with power 0.8 at level 0.05.

    ⌈7.85 · (σ_d / δ)²⌉ + 2; 7.85 = (z(.975) + z(.8))², + 2 for the t of small n. At least 3.
    """
    return max(3, math.ceil(7.85 * (log_sd / margin) ** 2) + 2)
