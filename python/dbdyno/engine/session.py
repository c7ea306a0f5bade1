"""Load in turns: an engine whose clients stay connected while windows are asked for one by one.

Several sessions may be driven from one thread, a turn of one and a turn of another: what an engine
says while nobody asks it waits.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dbdyno.engine.binary import Engine
from dbdyno.engine.parts import split
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
from dbdyno.errors import EngineError, InterruptedRunError
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model import Ready, Record, Turn

_WHOLE = ("warm_up_s", "measure_s", "events")
"""What says how long a run is as a whole: turns have lengths of their own."""

_Found = TypeVar("_Found", bound=Record)


class Session:
    """An engine under load in turns; `open_turns` makes it."""

    def __init__(
        self,
        running: Sequence[subprocess.Popen[bytes]],
        listener: Listener,
        log: Path,
        keep: Path | None,
    ) -> None:
        # Merging needs numpy, which takes a fifth of a second to import.
        from dbdyno.engine.together import Together

        self.call = Call(running)
        self._running = running
        self._log, self._mark = log, size(log)
        self._reader = Reader(self.call, listener)
        self._together = Together(running, keep)
        self._records = self._together.records(self.call.stop)
        self._turns = 0
        self._outcome: Outcome | None = None

    def ready(self) -> Ready:
        """Blocks until all clients are connected. Raises `LabError` where the engine can't go on.

        Before it, nothing is asked of the server but to connect and to prepare.
        """
        return self._until(Ready, lambda _: True)

    def turn(self, begin_unix_ns: int, lead_in_s: float, measure_s: float) -> Turn:
        """Runs a turn, and blocks until nothing of it is in flight.

        It begins at a wall-clock instant, which should lie 50 ms ahead: the turn says when it did.
        `lead_in_s` (0 or more) is thrown away, `measure_s` (above 0) is measured. Raises `LabError`
        where the engine ended before the turn was over; a turn cut short by a signal comes as it
        is, marked `interrupted`.
        """
        index, self._turns = self._turns, self._turns + 1
        self._together.tell(f"turn {begin_unix_ns} {lead_in_s!r} {measure_s!r}")
        turn = self._until(Turn, lambda turn: turn.index == index)
        if turn.interrupted:
            failure = self.end().failure
            if failure is not None:
                raise failure
        return turn

    def end(self) -> Outcome:
        """Ends the load: the summary of all turns. May be called again."""
        if self._outcome is None:
            self._together.tell("end")
            self._outcome = self._finish()
        return self._outcome

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
        raise EngineError(
            "the engine ended before it was told to",
            hint="a script whose clients all end by themselves can't be driven in turns",
        )

    def _finish(self) -> Outcome:
        for line, record in self._records:
            self._reader.take(line, record)
        codes = [process.wait() for process in self._running]
        return self._reader.outcome(worst(codes), tail(self._log, self._mark))


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
) -> Iterator[Session]:
    """An engine that connects the clients of a spec and waits for turns.

    The spec's own `warm_up_s`, `measure_s` and `events` do not count. The rest is as for
    `run_engine`: the listener gets each record as it is read, while a method of the session is
    under way. No process outlives the block.
    """
    turned = {name: value for name, value in spec.items() if name not in _WHOLE} | {"turns": True}
    processes = processes or plan_engine(engine, turned, launch=launch).processes
    specs = (turned,) if processes == 1 else split(turned, processes)
    with started(engine, len(specs), log, launch) as running:
        session = Session(running, listener, log, keep)
        with signals_passed_to(session.call):
            for process, part in zip(running, specs, strict=True):
                send(process, part, more=True)
            yield session
