"""Counters that were reset between two samples: their server restarted, or somebody reset its
statistics. What they grew by is not known then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dbdyno.report.material.material import Column

ROUNDING = 1e-9
"""Share of a value by which a sum of others may seem to fall."""


def resets(values: Column) -> NDArray[np.bool_]:
    """For each sample but the first of the last axis, whether the counter fell before it."""
    before, after = values[..., :-1], values[..., 1:]
    return np.asarray(after < before - ROUNDING * np.abs(before), dtype=np.bool_)
