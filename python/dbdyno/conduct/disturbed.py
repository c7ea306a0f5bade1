"""What surrounds the engine's call in a step with faults: their timetable, and probes."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from dbdyno.conduct.faults import Faults, unheard
from dbdyno.conduct.ledger import Ledger
from dbdyno.conduct.outages import (
    figures,
    raise_without_faults,
    unmade_warnings,
    with_losses,
    with_outages,
    with_power,
)
from dbdyno.conduct.probes import Attempt, Probes, errors_of, keep
from dbdyno.errors import LabError, ServerError
from dbdyno.model import EngineWarning, Load, Step, StepSummary
from dbdyno.model.fault import timetable
from dbdyno.servers import Server

_READY_LIMIT_S = 60.0
_POLL_S = 0.2
_Answer = TypeVar("_Answer")


def when_ready(ask: Callable[[], _Answer], limit_s: float) -> _Answer:
    """Asks again while it fails, for so long: a member that has just rejoined its group may refuse
    statements once more. Raises the last `ServerError`."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            return ask()
        except ServerError:
            if time.monotonic() >= deadline:
                raise
        select.select([], [], [], _POLL_S)


@dataclass(slots=True)
class Disturbed:
    """A context manager: probes run within it, and no fault is in force after it."""

    server: Server
    target: Mapping[str, Any]
    step: Step
    load: Load
    logs: Path
    journal: Callable[[str, int], None] = unheard
    """Gets each fault that begins or is over, as `Faults` has it."""
    _faults: Faults = field(init=False)
    _probes: Probes = field(init=False)
    _ledger: Ledger = field(init=False)
    _attempts: Sequence[Attempt] = ()

    def __post_init__(self) -> None:
        due = timetable(self.load.faults, self.load.measure_s or 0.0, self.step.seed)
        self._faults = Faults(self.server, self.target, due, self.step.seed, self.journal)
        self._probes = Probes(self.server, self.target)
        self._ledger = Ledger(self.server, self.target, self.load.ledger)

    def __enter__(self) -> Self:
        self._probes.start()
        self._ledger.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        failures: list[LabError] = []
        for end in (self._faults.end, self._stop_probes, self._ledger.stop):
            try:
                end()
            except LabError as failure:
                failures.append(failure)
        if failures and error is None:  # Otherwise the load's own error is the cause.
            raise failures[0]

    def _stop_probes(self) -> None:
        self._attempts = self._probes.stop()

    def begin(self, start_unix_ns: int) -> None:
        """The engine's clock has begun: its window follows the warm-up."""
        self._faults.begin(start_unix_ns + round(self.load.warm_up_s * 1e9))

    def warnings(self) -> Iterator[EngineWarning]:
        """Of faults that the timetable has and the load did not meet."""
        return unmade_warnings(self._faults.due, self._faults.results)

    def raise_if_none_was_made(self) -> None:
        """Raises `NotValidError` when the load was over before its first fault."""
        raise_without_faults(self._faults.due, self._faults.results)

    def completed(self, summary: StepSummary) -> StepSummary:
        """The step's figures with those of the faults; raises `ServerError` if the probes' table
        can't be read."""
        attempts, origin_ns = self._attempts, self._faults.origin_ns
        keep(attempts, self.logs / f"probes-{self.step.index}.csv.gz", origin_ns)
        window_ns = round(summary.window_s * 1e9)
        try:
            when_ready(self._ledger.look, _READY_LIMIT_S)
        finally:
            self._ledger.keep(self.logs / f"ledger-{self.step.index}.csv.gz", origin_ns)
        times_ns = self._ledger.acknowledged_ns()
        results = with_outages(self._faults.results, attempts, origin_ns, window_ns, times_ns)
        lost_ns, in_doubt = when_ready(lambda: self._probes.lost(attempts), _READY_LIMIT_S)
        lost_ns = with_power([*lost_ns, *self._ledger.lost_ns()], results, origin_ns)
        written_ns = [a.ended_ns for a in attempts if a.row and not a.code]
        results = with_losses(results, lost_ns, sorted([*written_ns, *times_ns]), origin_ns)
        met = {
            **figures(results),
            "lost_commits": float(len(lost_ns)),
            "in_doubt_commits": float(in_doubt + self._ledger.in_doubt()),
        }
        if self.load.ledger:
            met["ledger_commits"] = float(len(times_ns))
        return replace(
            summary,
            figures={**summary.figures, **met},
            faults=results,
            probe_errors=errors_of(attempts),
        )
