"""Collectors of the user's own: a file in Python like those of `sources/`, or a program that prints
`name value` lines.

A program is run once a second. A line is a name, an instance in braces where there are several, a
value, and a unit if it has one: `waiting{disk0} 3 requests`. A name that ends in `_total` is a
counter, any other a gauge; lines that begin with `#` are for people. It finds what it may look at
in DBDYNO_SERVER, DBDYNO_SERVER_URL, DBDYNO_SERVER_PIDS, DBDYNO_CLIENT_PIDS and DBDYNO_DATA_FOLDER.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import re
import select
import selectors
import signal
import subprocess
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import LabError, MachineError, UsageError
from dbdyno.model import Metric, MetricKind, Missing, Reading

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LINE = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:\{(?P<instance>[^{}]*)\})?\s+(?P<rest>.+)")
_LIMIT_S = 5.0
_LARGEST = 256 << 10
"""What a program may print, bytes."""
_TOLD_CHARACTERS = 300
_EXPECTED = "expected `name value`, `name{instance} value` or `name value unit`"


@dataclass(frozen=True, slots=True)
class OwnCollector:
    """A collector with the proof of what it was."""

    collector: Collector
    file: str
    """As the study names it."""
    sha256: str


def read_own(named: str, file: Path) -> OwnCollector:
    """The collector in a file. A program is run once, to learn what it prints.

    # Errors
    `UsageError` with the file, and its line where one is at fault.
    """
    if not _NAME.fullmatch(file.stem):
        raise UsageError(
            f"{file}: a collector's source is called like its file; expected small letters, digits "
            f"and `_`, found `{file.stem}`",
            hint="rename the file",
        )
    if file.suffix == ".py":
        collector = _python(file)
    elif os.access(file, os.X_OK):
        collector = _program(file)
    else:
        raise UsageError(
            f"{file}: neither a file in Python (`.py`) nor a program that may be run",
            hint=f"`chmod +x {file}`",
        )
    return OwnCollector(collector, named, hashlib.sha256(file.read_bytes()).hexdigest())


def _python(file: Path) -> Collector:
    spec = importlib.util.spec_from_file_location(f"dbdyno_own_{file.stem}", file)
    assert spec is not None, "a file that ends in .py"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with _in_time(file):
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(_told(file, error)) from error
    collector = getattr(module, "COLLECTOR", None)
    if not isinstance(collector, Collector):
        raise UsageError(
            f"{file}: holds no collector; expected `COLLECTOR = Collector(…)`",
            hint="docs/reference/metrics.md has an example",
        )
    if collector.source != file.stem:
        raise UsageError(
            f"{file}: its source is called `{collector.source}`; "
            f"expected `{file.stem}`, like its file"
        )

    def opened(watched: Watched) -> Readings | Missing | None:
        try:
            readings = _opened(file, collector, watched)
        except MachineError as error:
            return Missing(error.message, "mend the file")
        if readings is None or isinstance(readings, Missing):
            return readings
        return _Checked(file, frozenset(metric.name for metric in collector.metrics), readings)

    return replace(collector, open=opened, optional=False)


@contextmanager
def _in_time(file: Path) -> Iterator[None]:
    """Ends what a file does when it is read, should it not return."""

    def end(*_: object) -> None:
        raise TimeoutError(f"reading the file took more than {_LIMIT_S:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _opened(file: Path, collector: Collector, watched: Watched) -> Readings | Missing | None:
    try:
        return collector.open(watched)
    except Exception as error:
        raise MachineError(_told(file, error)) from error


def _told(file: Path, error: BaseException) -> str:
    """The last line of the file that had a part in it, and what went wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)
    place = f"{file}:{line}" if line else str(file)
    return f"{place}: {type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class _Checked:
    """Somebody else's readings: whatever goes wrong in them is a sample that is missing."""

    file: Path
    known: frozenset[str]
    readings: Readings

    def sample(self) -> Iterable[Reading]:
        try:
            readings = list(self.readings.sample())
            strange = [reading.metric for reading in readings if reading.metric not in self.known]
        except (LabError, OSError):
            raise
        except Exception as error:
            raise MachineError(_told(self.file, error)) from error
        if strange:
            raise MachineError(f"{self.file}: reads `{strange[0]}`, which its metrics lack")
        return readings

    def close(self) -> None:
        self.readings.close()


def _program(file: Path) -> Collector:
    try:
        lines = _lines(file, _printed(file, Watched()))
    except MachineError as error:
        raise UsageError(error.message, hint=error.hint) from error
    if not lines:
        raise UsageError(f"{file}: printed nothing; {_EXPECTED}")
    metrics = {reading.metric: _metric(file, reading.metric, unit) for reading, unit in lines}

    def opened(watched: Watched) -> Readings:
        return _Checked(file, frozenset(metrics), _Program(file, watched))

    return Collector(file.stem, "run", tuple(metrics.values()), opened)


def _metric(file: Path, name: str, unit: str) -> Metric:
    kind: MetricKind = "counter" if name.endswith("_total") else "gauge"
    return Metric(name, unit, kind, f"Printed by {file.name}")


@dataclass(frozen=True, slots=True)
class _Program:
    file: Path
    watched: Watched

    def sample(self) -> Iterable[Reading]:
        return [reading for reading, _ in _lines(self.file, _printed(self.file, self.watched))]

    def close(self) -> None:
        """Nothing runs between two samples."""


def _printed(file: Path, watched: Watched) -> str:
    """What it prints now. Whatever it started ends with it, and within 6 s though we die.

    # Errors
    `MachineError` when it fails, takes too long or prints too much.
    """
    environment = {
        **os.environ,
        "DBDYNO_SERVER": watched.kind,
        "DBDYNO_SERVER_URL": watched.url,
        "DBDYNO_SERVER_PIDS": _numbers(watched.server_pids()),
        "DBDYNO_CLIENT_PIDS": _numbers(watched.client_pids()),
        "DBDYNO_DATA_FOLDER": str(watched.data_folder or ""),
    }
    # Should we die, `timeout` kills the process group, a little later than we would.
    argv: list[Path | str] = ["timeout", "--signal=KILL", f"{_LIMIT_S + 1:g}s", file.absolute()]
    ends_s = time.monotonic() + _LIMIT_S
    try:
        child = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        raise MachineError(f"{file}: {error.strerror}") from error
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        try:
            printed, complaints = _read_both(child.stdout, child.stderr, ends_s)
            if max(len(printed), len(complaints)) > _LARGEST:
                raise MachineError(f"{file}: prints more than {_LARGEST >> 10} KiB")
            watched.spend(_wait(child, ends_s))
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"{file}: did not end within {_LIMIT_S:g} s") from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    if code := child.returncode:
        words = " ".join(complaints.decode(errors="replace").split())[-_TOLD_CHARACTERS:]
        raise MachineError(f"{file}: ended with {code}{f': {words}' if words else ''}")
    return printed.decode(errors="replace")


def _wait(child: subprocess.Popen[bytes], ends_s: float) -> float:
    """Its processor time, seconds, and that of the programs it has waited for; `TimeoutExpired`."""
    ended = os.pidfd_open(child.pid)
    try:
        ready, _, _ = select.select([ended], [], [], max(0.0, ends_s - time.monotonic()))
    finally:
        os.close(ended)
    if not ready:
        raise subprocess.TimeoutExpired("timeout", _LIMIT_S)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def _read_both(
    printed: IO[bytes], complaints: IO[bytes], ends_s: float
) -> tuple[bytearray, bytearray]:
    """Both streams up to their end, or until one is longer than may be; `TimeoutExpired`."""
    kept = {printed: bytearray(), complaints: bytearray()}
    with selectors.DefaultSelector() as open_ones:
        for stream in kept:
            open_ones.register(stream, selectors.EVENT_READ, stream)
        while open_ones.get_map() and all(len(read) <= _LARGEST for read in kept.values()):
            ready = open_ones.select(max(0.0, ends_s - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired("timeout", _LIMIT_S)
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                kept[key.data] += piece
                if not piece:
                    open_ones.unregister(key.fileobj)
    return kept[printed], kept[complaints]


def _numbers(pids: Sequence[int]) -> str:
    return " ".join(map(str, pids))


def _lines(file: Path, text: str) -> list[tuple[Reading, str]]:
    """Readings with their units. Raises `MachineError` with the line of what is none."""
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line.strip())
        value, unit = _value(parts["rest"]) if parts else (math.nan, "")
        if parts is None or not math.isfinite(value):
            raise MachineError(f"{file}: line {number} of what it prints: {_EXPECTED}; `{line}`")
        lines.append((Reading(parts["name"], value, parts["instance"] or ""), unit))
    return lines


def _value(text: str) -> tuple[float, str]:
    """A number and its unit; not a number where there is none."""
    number, _, unit = text.strip().partition(" ")
    try:
        return float(number), unit.strip()
    except ValueError:
        return math.nan, ""
