"""Load in turns: an engine whose clients stay connected while windows are ordered one by one.

Several engines may be driven from one thread, in turn: unread records of an engine wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dbdyno.engine.binary import Engine
from dbdyno.engine.hosts import LoadHosts, Start
from dbdyno.engine.parts import parts_of
from dbdyno.engine.plan import plan_engine
from dbdyno.engine.process import (
    Call,
    Listener,
    Outcome,
    Reader,
    send,
    signals_passed_to,
    size,
    started,
    tail,
    worst,
)
from dbdyno.engine.spec import in_turns
from dbdyno.errors import EngineError, InterruptedRunError, ScriptError
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model import Ready, Record, Turn
from dbdyno.places import HERE, Running

_Found = TypeVar("_Found", bound=Record)


class EngineInTurns:
    """An engine under load in turns; `open_turns` makes it."""

    def __init__(
        self,
        running: Sequence[Running],
        reader: Reader,
        log: Path,
        keep: Path | None,
        is_lost: Callable[[], bool],
        *,
        hosts: LoadHosts | None = None,
    ) -> None:
        # Merging needs numpy, which takes a fifth of a second to import.
        from dbdyno.engine.together import Together

        self.call = reader.call
        self._running = running
        self._log, self._mark = log, size(log)
        self._reader = reader
        self._together = Together(running, keep, hosts)
        self._is_lost = is_lost
        self._records = self._together.records(self.call.stop, self._stop_if_lost)
        self._turns = 0
        self._outcome: Outcome | None = None

    def ready(self) -> Ready:
        """Blocks until all clients are connected. Raises `LabError` if the engine can't continue.

        Until then, the server only gets connections and `thread_init`.
        """
        return self._until(Ready, lambda _: True)

    def turn(self, begin_unix_ns: int, lead_in_s: float, measure_s: float) -> Turn:
        """Runs a turn, and blocks until nothing of it is in flight.

        It begins at a wall-clock time, far enough ahead that every process learns of it before;
        the turn's record has the actual time. `lead_in_s` (0 or more) is discarded, `measure_s`
        (above 0) is measured.
        Raises `LabError` if the engine ends before the turn is over; a turn cut short by a signal
        is returned marked `interrupted`.
        """
        index, self._turns = self._turns, self._turns + 1
        self._together.tell_time(f"turn {{}} {lead_in_s!r} {measure_s!r}", begin_unix_ns)
        turn = self._until(Turn, lambda turn: turn.index == index)
        if turn.interrupted:
            failure = self.end().failure
            if failure is not None:
                raise failure
        return turn

    def end(self) -> Outcome:
        """Ends the load; returns the summary of all turns. May be called again."""
        if self._outcome is None:
            self._together.tell("end")
            self._outcome = self._finish()
        return self._outcome

    def _stop_if_lost(self) -> None:
        if not self.call.stopped and self._is_lost():
            self.call.stop()

    def _until(self, kind: type[_Found], wanted: Callable[[_Found], bool]) -> _Found:
        for line, record in self._records:
            self._reader.take(line, record)
            if isinstance(record, kind) and wanted(record):
                return record
        if self._outcome is None:
            self._outcome = self._finish()
        if self._outcome.failure is not None:
            raise self._outcome.failure
        if self._outcome.interrupted:
            raise InterruptedRunError("the load was interrupted before its turn was over")
        if self.call.stopped:
            raise EngineError("the engine was stopped before its turn was over")
        raise ScriptError(
            "all clients of the script ended before their turn was over",
            hint='say `[design] order = "runs"`: a load in turns needs clients that go on',
        )

    def _finish(self) -> Outcome:
        for line, record in self._records:
            self._reader.take(line, record)
        codes = [process.wait() for process in self._running]
        return self._reader.outcome(
            worst(codes), tail(self._log, self._mark), self._together.of_hosts
        )


@contextmanager
def open_turns(
    engine: Engine,
    spec: Mapping[str, object],
    *,
    listener: Listener,
    log: Path,
    processes: int | None = None,
    keep: Path | None = None,
    launch: Launch = ORDINARY,
    hosts: LoadHosts | None = None,
    reconnect: int = 0,
    is_lost: Callable[[], bool] = lambda: False,
) -> Iterator[EngineInTurns]:
    """An engine that connects the clients of a spec and waits for turns.

    The spec's own `warm_up_s`, `measure_s` and `events` are ignored. With `reconnect`,
    each client reconnects after its first event of every Nth turn, from turn N on (0: never).
    While records are awaited and none arrives, `is_lost` is asked whether the load makes no sense
    any more (its server has died): the engine is then stopped.
    Otherwise as `run_engine`: the listener gets each record as it is read, during a call of a
    method of what is returned. No process outlives the block.
    """
    turned = in_turns(spec, reconnect)
    if hosts is None:
        processes = processes or plan_engine(engine, turned, launch=launch).processes
        starts = [Start(HERE, engine, part) for part in parts_of(turned, processes)]
    else:
        starts = hosts.starts(turned, processes)
    with started(starts, log, launch) as running:
        reader = Reader(Call(running), listener, spec)
        driven = EngineInTurns(running, reader, log, keep, is_lost, hosts=hosts)
        with signals_passed_to(driven.call):
            for process, start in zip(running, starts, strict=True):
                send(process, start.spec, more=True)
            yield driven
