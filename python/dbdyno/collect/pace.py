"""How often a source is sampled: every second, or as rarely as its cost asks for, and rarely while
its server is idle."""

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
        """Between two samples under load, so far."""
        self.idle = False
        """Whether its server has no load: others are driven."""

    def sampled(self, cpu_s: float) -> None:
        """Takes note of what a sample took, of lab and server together."""
        self._costs_s.append(cpu_s)

    def due_s(self, now_s: float) -> float:
        """When the next sample is due: at a whole second of the clock that `now_s` is of, half a
        second from now or later."""
        period_s = LONGEST_S if self.idle else self._under_load_s()
        due_s = math.floor(now_s / PERIOD_S) * PERIOD_S + period_s
        return due_s if due_s - now_s >= PERIOD_S / 2 else due_s + PERIOD_S

    def _under_load_s(self) -> float:
        if len(self._costs_s) < _LOOKED_AT:
            return PERIOD_S
        seconds = math.ceil(min(self._costs_s) / SHARE)
        period_s = min(max(PERIOD_S, float(seconds)), LONGEST_S)
        self.longest_s = max(self.longest_s, period_s)
        return period_s
