"""Effects of runs that share no block: other studies, other days."""

import math

import numpy as np
from numpy.typing import ArrayLike

from dbdyno.stats.paired import NotComparable, PairedEffect


def unpaired_effect(baseline: ArrayLike, candidate: ArrayLike) -> PairedEffect | NotComparable:
    """Welch's t on logarithms: θ = mean(ln b) − mean(ln a), se² = s_a²/n + s_b²/m.

    Degrees after Welch and Satterthwaite, (v_a + v_b)² / (v_a²/(n − 1) + v_b²/(m − 1)) with
    v = s²/n. Two runs a side are the least. What the days between them changed is in θ too.
    """
    before = np.asarray(baseline, dtype=np.float64)
    after = np.asarray(candidate, dtype=np.float64)
    if min(before.size, after.size) < 2:
        no_spread = "one run a side holds no spread"
        few = f"of {before.size} against {after.size} runs, a side of one holds no spread"
        reason = no_spread if before.size == after.size else few
        return NotComparable(f"{reason}, so no interval can be given")
    if not ((before > 0).all() and (after > 0).all()):
        return NotComparable("a run has a value that isn't above zero, so no ratio exists")
    a, b = np.log(before), np.log(after)
    v_a, v_b = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    if v_a + v_b <= 0:
        return NotComparable("every run gave exactly the same value: no spread to judge by")
    degrees = (v_a + v_b) ** 2 / (v_a**2 / (a.size - 1) + v_b**2 / (b.size - 1))
    blocks = min(a.size, b.size)
    return PairedEffect(
        differences=(float(b.mean() - a.mean()),),
        blocks=blocks,
        log_effect=float(b.mean() - a.mean()),
        log_sd=math.sqrt((v_a + v_b) * blocks),
        standard_error=math.sqrt(v_a + v_b),
        degrees=degrees,
        method="Welch's t over runs",
    )
