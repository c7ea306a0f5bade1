"""How often a source is sampled: every second, or as rarely as its cost asks for."""

from __future__ import annotations

import math
from collections import deque

PERIOD_S = 1.0
LONGEST_S = 10.0
SHARE = 0.004
"""Of a core, that the samples of one source may take between two edges."""
_LOOKED_AT = 3
"""Samples; the cheapest counts, so that one hiccup changes nothing."""


class Pace:
    """Of one source, by what its last samples took."""

    def __init__(self) -> None:
        self._costs_s: deque[float] = deque(maxlen=_LOOKED_AT)
        self.longest_s = PERIOD_S
        """Between two samples, so far."""

    def sampled(self, cpu_s: float) -> None:
        """Takes note of what a sample took, of lab and server together."""
        self._costs_s.append(cpu_s)

    def due_s(self, now_s: float) -> float:
        """When the next sample is due: at a whole second of the clock that `now_s` is of."""
        period_s = PERIOD_S
        if len(self._costs_s) == _LOOKED_AT:
            seconds = math.ceil(min(self._costs_s) / SHARE)
            period_s = min(max(PERIOD_S, float(seconds)), LONGEST_S)
        self.longest_s = max(self.longest_s, period_s)
        return math.floor(now_s / PERIOD_S) * PERIOD_S + period_s
