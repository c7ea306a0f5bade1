"""Where a function crosses zero.

`scipy.optimize` does it in fewer steps, and its import takes half a second of processor time.
"""

from bisect import bisect_left
from collections.abc import Callable

_STEPS = range(1 << 44)
"""An interval is divided by them: a double has 53 bits, and no caller needs them all."""


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where `function`, negative at `low` and not at `high`, becomes 0; within 2⁻⁴⁴ of the
    interval's length."""

    def at(step: int) -> float:
        return low + (high - low) * (step / len(_STEPS))

    return at(bisect_left(_STEPS, 0.0, key=lambda step: function(at(step))))
