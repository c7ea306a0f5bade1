"""Calls the engine, in one or several processes: spec in, records out, exit code interpreted."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from dbdyno.engine.binary import Engine
from dbdyno.engine.death import (
    lost_engine,
    out_of_memory_kills,
    script_calling_c,
    stopped_engine,
)
from dbdyno.engine.fatal import error_of, error_of_code
from dbdyno.engine.hosts import LoadHosts, Start, lost_hosts
from dbdyno.engine.parts import parts_of
from dbdyno.engine.plan import plan_engine
from dbdyno.errors import EngineError, LabError
from dbdyno.formats.records import parse_record
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model import (
    Backlog,
    EngineWarning,
    Fatal,
    Hello,
    Interval,
    Loaded,
    LoadHost,
    Record,
    Sample,
    Summary,
)
from dbdyno.places import HERE, Running

if TYPE_CHECKING:
    from dbdyno.engine.host_figures import HostRecords

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call of the engine ended."""

    hello: Hello | None
    summary: Summary | None
    summary_line: Mapping[str, object]
    """The summary record as received; empty if there was none."""
    warnings: tuple[EngineWarning, ...]
    failure: LabError | None
    """Why it stopped, unless it was done or told to stop."""
    interrupted: bool
    """A signal to the lab was forwarded to it."""
    backlog: Backlog
    processes: int = 1
    loaded: tuple[Loaded, ...] = ()
    """Rows that bulk inserts have stored, by table."""
    hosts: tuple[LoadHost, ...] = ()
    """What each load host has measured; empty: the load came from this machine."""
    samples: tuple[Sample, ...] = ()
    """The same over time."""


class Call:
    """A running engine, in one or several processes, as a listener may control it."""

    def __init__(self, processes: Sequence[Running]) -> None:
        self._processes = processes
        self.interrupted = False
        self.stopped = False
        """Stopped by us, for whatever reason."""

    @property
    def pids(self) -> Sequence[int]:
        """Of each process on this machine."""
        return tuple(process.pid for process in self._processes if process.pid is not None)

    def stop(self) -> None:
        """Asks it to end now and report what it has measured."""
        self.stopped = True
        for process in self._processes:
            process.interrupt()

    @property
    def losses(self) -> Mapping[str, str]:
        """Load host → why nothing more is heard of it."""
        return {process.host: process.lost for process in self._processes if process.lost}

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self._processes)

    def kill(self) -> None:
        """Kills it; records not yet written are lost."""
        self.stopped = True
        for process in self._processes:
            process.kill()


Listener = Callable[[bytes, Record, Call], None]
"""Gets each line as received, its record, and the call it belongs to."""


def run_engine(
    engine: Engine,
    spec: Mapping[str, object],
    *,
    listener: Listener,
    log: Path,
    processes: int | None = None,
    keep: Path | None = None,
    launch: Launch = ORDINARY,
    hosts: LoadHosts | None = None,
) -> Outcome:
    """Runs a spec and passes each record to `listener` as it arrives.

    To the listener, several processes (`None`: as few as may open all the sockets) look like one:
    it gets merged records; each process's own are stored as `keep`-part-N.ndjson.zst. The engine's
    standard error is appended to `log`. SIGINT and SIGTERM are forwarded while it runs: what it
    has measured still arrives. An exception from the listener stops the engine and is raised.
    `launch` says how the engine is started; on `hosts`, each of which gets `processes` (`None`: 1)
    and none of this machine's ways of starting it, the engine is the one that was shipped there.
    """
    if hosts is None:
        processes = processes or plan_engine(engine, spec, launch=launch).processes
        starts = [Start(HERE, engine, part) for part in parts_of(spec, processes)]
    else:
        starts = hosts.starts(spec, processes)
    mark = size(log)
    with started(starts, log, launch) as running:
        call = Call(running)
        reader, records = Reader(call, listener, spec), None
        with signals_passed_to(call):
            for process, start in zip(running, starts, strict=True):
                send(process, start.spec, more=len(starts) > 1)
            if len(starts) == 1 and hosts is None:
                reader.read(running[0])
            else:
                # Merging needs numpy, which takes a fifth of a second to import.
                from dbdyno.engine.together import Together

                together = Together(running, keep, hosts)
                together.read(reader.take, call.stop)
                records = together.of_hosts
            codes = [process.wait() for process in running]
        if hosts is not None:
            hosts.time()
    return reader.outcome(worst(codes), tail(log, mark), records)


def worst(codes: Sequence[int]) -> int:
    """The combined exit code of several processes."""
    return next(filter(_is_bad, codes), max(codes))


def _is_bad(code: int) -> bool:
    return code not in (0, INTERRUPTED)


@contextmanager
def started(starts: Sequence[Start], log: Path, launch: Launch) -> Iterator[list[Running]]:
    """Starts the processes; none outlives the block."""
    running: list[Running] = []
    try:
        for start in starts:
            running.append(_start(start, log, launch))
        yield running
    finally:
        for process in running:
            process.close()


def _start(start: Start, log: Path, launch: Launch) -> Running:
    path = start.engine.path
    prefix = () if start.place.name else launch.prefix()
    try:
        return start.place.run([*prefix, path, "run", "-"], log)
    except OSError as error:
        raise EngineError(f"{path} can't be started: {error.strerror}") from error


class Reader:
    """Collects what the end of the call is judged by."""

    def __init__(self, call: Call, listener: Listener, spec: Mapping[str, object]) -> None:
        self.call = call
        self.listener = listener
        self.spec = spec
        self.hello: Hello | None = None
        self.summary: Summary | None = None
        self.summary_line: Mapping[str, object] = {}
        self.warnings: list[EngineWarning] = []
        self.loaded: list[Loaded] = []
        self.fatal: Fatal | None = None
        self.backlog = Backlog()
        self.kills_before = out_of_memory_kills()

    def read(self, process: Running) -> None:
        for number, line in enumerate(process.lines(), 1):
            if not line.endswith(b"\n"):
                break  # torn: the engine died while writing it
            self.take(line, parse_record(line, number=number))

    def take(self, line: bytes, record: Record) -> None:
        """Takes one record of the whole run."""
        match record:
            case Hello():
                self.hello = record
            case Summary():
                self.summary = record
                self.summary_line = json.loads(line)
            case Interval() if record.phase == "measure":
                self.backlog = Backlog(record.backlog, max(record.backlog, self.backlog.highest))
            case EngineWarning():
                self.warnings.append(record)
            case Loaded():
                self.loaded.append(record)
            case Fatal():
                self.fatal = self.fatal or record
            case _:
                pass
        self.listener(line, record, self.call)

    def outcome(self, code: int, stderr: str, records: HostRecords | None) -> Outcome:
        """How the call ended; `records`: those of load hosts."""
        hosts = None if records is None else records.figures(self.call.losses)
        return Outcome(
            hello=self.hello,
            summary=self.summary,
            summary_line=self.summary_line,
            warnings=tuple(self.warnings),
            loaded=tuple(self.loaded),
            failure=self._failure(code, stderr),
            interrupted=self.call.interrupted,
            backlog=self.backlog,
            processes=self.call.count,
            hosts=hosts or (),
            samples=() if records is None else records.samples(),
        )

    def _failure(self, code: int, stderr: str) -> LabError | None:
        if losses := self.call.losses:
            return lost_hosts(losses)
        if self.fatal is not None:
            return error_of(self.fatal)
        if code == INTERRUPTED and not self.call.stopped:
            return stopped_engine()
        if code in (0, INTERRUPTED):
            return None
        if code < 0:
            return lost_engine(-code, self.kills_before, stderr, script_calling_c(self.spec))
        return error_of_code(code, stderr)


def send(process: Running, spec: Mapping[str, object], *, more: bool) -> None:
    """Sends the spec; `more` input will follow."""
    process.send(json.dumps(spec).encode() + b"\n", more=more)


@contextmanager
def signals_passed_to(call: Call) -> Iterator[None]:
    """While the engine runs, SIGINT and SIGTERM mean: finish, report, then end. If several calls
    are running, all get them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    installed = signal.getsignal(signal.SIGINT)
    handler = installed if isinstance(installed, _PassedOn) else _PassedOn()
    handler.calls.append(call)
    try:
        yield
    finally:
        handler.leave(call)


class _PassedOn:
    """The handler of both signals while calls are running: it holds them, and no module does."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._before = {number: signal.signal(number, self) for number in _PASSED}

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        for call in tuple(self.calls):
            if call.interrupted:
                call.kill()  # asked twice: end at once
            call.interrupted = True
            call.stop()

    def leave(self, call: Call) -> None:
        """The call has ended; after the last one the handlers are those from before."""
        self.calls.remove(call)
        if not self.calls:
            for number, handler in self._before.items():
                signal.signal(number, handler)


_PASSED = (signal.SIGINT, signal.SIGTERM)

_TAIL_BYTES = 2000


def size(log: Path) -> int:
    """Bytes of a log so far; 0 where there is none."""
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, mark: int) -> str:
    """The end of the engine's standard error in this call; load hosts that said nothing leave no
    file."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(mark)
        return file.read()[-_TAIL_BYTES:].decode(errors="replace").strip()
