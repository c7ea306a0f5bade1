"""How fast the processors are while others use them: the engine's verb `speed`, running beside a
load."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from dbdyno.engine.binary import Engine
from dbdyno.errors import EngineError


class Speedometer:
    """Asks a running `speed`; `open_speedometer` makes it."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        self._process = psutil.Process(running.pid)

    @property
    def pid(self) -> int:
        """Of the engine's process."""
        return self._running.pid

    def cpu_s(self) -> float:
        """Processor time that measuring has taken so far."""
        try:
            times = self._process.cpu_times()
        except psutil.Error:
            return 0.0
        return times.user + times.system

    def between(self, from_unix_ns: int, to_unix_ns: int) -> float | None:
        """Speed of all processors together in that stretch, in rounds of known work per
        microsecond. `None`: a processor was not measured in it, or measuring has ended."""
        to_it, from_it = self._running.stdin, self._running.stdout
        assert to_it is not None and from_it is not None
        try:
            to_it.write(f"{from_unix_ns} {to_unix_ns}\n")
            to_it.flush()
            answer = from_it.readline()
        except OSError:
            return None
        speeds = json.loads(answer) if answer.endswith("\n") else []
        return None if not speeds or None in speeds else float(sum(speeds))


@contextmanager
def open_speedometer(engine: Engine) -> Iterator[Speedometer]:
    """Measures until the block ends, on all processors that the lab may use. It outlives neither
    the block nor the lab, whose end closes its standard input."""
    try:
        running = subprocess.Popen(
            [str(engine.path), "speed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C ends the load first
        )
    except OSError as error:
        raise EngineError(f"{engine.path} can't be started: {error.strerror}") from error
    try:
        yield Speedometer(running)
    finally:
        running.kill()
        running.communicate()
