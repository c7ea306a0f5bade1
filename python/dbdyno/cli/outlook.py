"""Which share of a study is done, and the range of times in which it will end.

The share never falls. The range only narrows while a batch runs, until time has passed its end;
after each batch it is anew what the batches have shown. The plan's estimates may be far off, so the
range is wide until runs have shown how long they take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from dbdyno.conduct import Event, RunEnded, RunStarted, StudyStarted
from dbdyno.conduct.estimate import run_time_s
from dbdyno.conduct.volume import ask_volumes
from dbdyno.formats.quantities import format_duration
from dbdyno.model import Load, Plan, PlannedRun

_UNTRIED = (0.5, 3.0)
"""How far the plan's estimate may be off before any run has ended: factors."""
_MANY = 5
"""Batches that have ended, from which on the outermost two factors are left out."""
_LEAST_SPREAD = 0.15
_SPREAD = 0.5
"""Of the factor, over the number of batches that have ended."""
_UNDER_WAY = 0.98
"""Largest share that a batch counts as done before it has ended."""
_OVERDUE = 0.5
"""How much longer a batch beyond its expected time may take, as a share of its time so far."""


class Outlook:
    """Follows the events of a study. `longest` is the plan with the most blocks it may need."""

    def __init__(
        self,
        load: Load,
        longest: Plan | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._longest = longest
        self._now = now
        self._wanted: dict[str, float] = {}
        """Run → seconds expected, of those that are to be run."""
        self._perhaps: dict[str, float] = {}
        """The same of further blocks, which a study that may stop early may not need."""
        self._ended: dict[str, float] = {}
        """The same of runs that are in the store, and of those in batches that have ended."""
        self._going: dict[str, float] = {}
        """The same of the current batch, with its runs that have ended."""
        self._open: set[str] = set()
        """Runs of the current batch that have not ended."""
        self._batch_start_s = 0.0
        self._factors: list[float] = []
        """Of each batch that has ended: its time over the time expected."""
        self._spent_s = self._expected_of_spent_s = 0.0
        self._share = 0.0
        self._end_s: tuple[float, float] | None = None

    def see(self, event: Event) -> None:
        """Takes note of what happened."""
        match event:
            case StudyStarted(plan=plan, missing=missing):
                self._begin(plan, missing)
            case RunStarted(run=run):
                if not self._open:
                    self._batch_start_s = self._now()
                expected_s = self._wanted.pop(run.id, None) or run_time_s(run, self._load)
                self._going[run.id] = expected_s
                self._open.add(run.id)
            case RunEnded(run=run):
                self._open.discard(run.id)
                if not self._open:
                    self._end_batch()
            case _:
                pass

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        going_s = sum(self._going.values())
        all_s = sum(map(_total, (self._wanted, self._perhaps, self._ended))) + going_s
        expected_s = going_s * self._factor
        under_way = min(_UNDER_WAY, self._elapsed_s / expected_s) if expected_s else 0.0
        done = (_total(self._ended) + under_way * going_s) / all_s if all_s else 0.0
        self._share = max(self._share, min(done, 1.0))
        return self._share

    @property
    def left_s(self) -> tuple[float, float]:
        """Estimated seconds until the end, at least and at most."""
        now_s = self._now()
        low, high = self._factors_range()
        soonest_s = now_s + self._left_s(low)
        latest_s = now_s + self._left_s(high) + _total(self._perhaps) * high
        if self._end_s is not None:
            soonest_s = max(soonest_s, self._end_s[0])
            narrowed_s = min(latest_s, self._end_s[1])
            latest_s = narrowed_s if narrowed_s >= soonest_s else max(latest_s, soonest_s)
        self._end_s = soonest_s, latest_s
        return soonest_s - now_s, latest_s - now_s

    @property
    def words(self) -> str:
        """The range for people."""
        low_s, high_s = (format_duration(round(s)) for s in self.left_s)
        return low_s if low_s == high_s else f"{low_s} to {high_s}"

    def _begin(self, plan: Plan, missing: tuple[PlannedRun, ...]) -> None:
        further = () if self._longest is None else self._longest.runs
        ask_volumes(run.cell for run in (*plan.runs, *further))
        wanted = {run.id: run_time_s(run, self._load) for run in missing}
        if not self._ended:
            stored = (run for run in plan.runs if run.id not in wanted)
            self._ended = {run.id: run_time_s(run, self._load) for run in stored}
        self._wanted |= {name: s for name, s in wanted.items() if name not in self._ended}
        planned = {run.id for run in plan.runs}
        self._perhaps = {
            run.id: run_time_s(run, self._load) for run in further if run.id not in planned
        }

    def _end_batch(self) -> None:
        expected_s, took_s = sum(self._going.values()), self._elapsed_s
        if expected_s:
            self._factors.append(took_s / expected_s)
        self._spent_s += took_s
        self._expected_of_spent_s += expected_s
        self._ended |= self._going
        self._going = {}
        self._end_s = None

    @property
    def _elapsed_s(self) -> float:
        return self._now() - self._batch_start_s if self._going else 0.0

    @property
    def _factor(self) -> float:
        spent_s, expected_s = self._spent_s, self._expected_of_spent_s
        return spent_s / expected_s if expected_s and spent_s else 1.0

    def _factors_range(self) -> tuple[float, float]:
        if not self._factors:
            return _UNTRIED
        spread = max(_LEAST_SPREAD, _SPREAD / len(self._factors))
        low, high = _usual(self._factors)
        return min(self._factor * (1 - spread), low), max(self._factor * (1 + spread), high)

    def _left_s(self, factor: float) -> float:
        """Seconds left of the runs that are needed in any case."""
        rest_s, elapsed_s = sum(self._going.values()) * factor, self._elapsed_s
        most_s = elapsed_s * _OVERDUE if factor >= 1 else 0.0
        in_batch_s = rest_s - elapsed_s if rest_s > elapsed_s else min(most_s, rest_s)
        return _total(self._wanted) * factor + in_batch_s


def _usual(factors: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest; of many, without the outermost ones, such as that of a first
    batch, which downloads its servers."""
    ordered = sorted(factors)
    kept = ordered[1:-1] if len(ordered) >= _MANY else ordered
    return kept[0], kept[-1]


def _total(runs: Mapping[str, float]) -> float:
    return sum(runs.values())
