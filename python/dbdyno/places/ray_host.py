"""A load host's end: an actor of Ray that starts programs under a guard of its own.

It is shipped to the host, and imports nothing but the standard library, `errors` and `guard`. When
the actor dies, whoever ended it, its guard ends the programs and removes their files. The same
happens if nobody has asked for output for `LEASE_S`: the lab or the way to it is gone.
"""

from __future__ import annotations

import math
import os
import platform
import queue
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.sweep import temporary_parents

LEASE_S = 10.0
"""How long programs go on though nobody asks for what they print."""

_LOOK_S = 0.5
_CHUNK = 1 << 16
_END_LIMIT_S = 10.0
_ERROR_BYTES = 2000
_FOREVER = 2**62

Heard = tuple[int, str, int | None, str]
"""Number of a program; what it printed, as Latin-1, which keeps every byte; with its end: its exit
code and the last of its standard error."""


class LoadHost:
    """What the lab may ask of a host; each method is called through Ray."""

    def __init__(
        self, lease_s: float = LEASE_S, wall_clock: Callable[[], int] = time.time_ns
    ) -> None:
        """`wall_clock`: nanoseconds since 1970."""
        self._guard = Guarded()
        self._lease_s = lease_s
        self._wall_clock = wall_clock
        # Other hosts may still be starting: until something runs there is nothing to end.
        self._asked_s = math.inf
        self._heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._programs: dict[int, _Program] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._end_with_lease, daemon=True).start()

    def facts(self) -> Mapping[str, object]:
        """What the host has, and where the files lie that were shipped."""
        return {
            "root": str(Path.cwd()),
            "pid": os.getpid(),
            "hostname": platform.node(),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "boot_id": _text("/proc/sys/kernel/random/boot_id"),
            "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "open_files": _limit(resource.RLIMIT_NOFILE),
            "files_of_all": _number("/proc/sys/fs/file-max"),
            "ports": _ports(),
            "clock_source": _text(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource"
            ),
            "clock_synchronised": Path("/run/systemd/timesync/synchronized").exists(),
        }

    def clock(self) -> int:
        """The wall clock, nanoseconds since 1970."""
        return self._wall_clock()

    def run(self, number: int, argv: Sequence[str]) -> str:
        """Starts a program; returns why it can't be started, or nothing."""
        self._asked_s = min(self._asked_s, time.monotonic())
        # Ray's threads block signals, and whatever they start would inherit that.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        try:
            self._programs[number] = _Program(self._guard, number, argv, self._heard)
        except Exception as error:  # noqa: BLE001 - told to who asked, on another machine
            return str(error)
        return ""

    def send(self, number: int, text: str, more: bool) -> None:
        """Writes to a program's standard input; closes it unless there is more."""
        if number in self._programs:
            self._programs[number].send(text.encode("latin-1"), more=more)

    def signal(self, number: int, which: int) -> None:
        """Signals a program, unless it has ended."""
        if number in self._programs:
            self._programs[number].signal(signal.Signals(which))

    def read(self, wait_s: float) -> list[Heard]:
        """What programs have printed since, waiting up to `wait_s` for something."""
        self._asked_s = time.monotonic()
        heard = []
        try:
            heard.append(self._heard.get(timeout=wait_s))
            while True:
                heard.append(self._heard.get_nowait())
        except queue.Empty:
            return heard

    def ask(self, argv: Sequence[str], text: str, limit_s: float) -> tuple[int, str, str] | str:
        """Runs a short program to its end: its exit code, output and errors, or why it can't."""
        try:
            done = subprocess.run(
                argv, input=text, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return done.returncode, done.stdout, done.stderr

    def close(self) -> None:
        """Ends all programs, removes their files."""
        self._closed.set()
        self._guard.close()

    def _end_with_lease(self) -> None:
        while time.monotonic() - self._asked_s < self._lease_s and not self._closed.is_set():
            self._closed.wait(_LOOK_S)
        if self._closed.is_set():
            return
        try:
            self._guard.close()
        finally:
            os._exit(1)


class _Program:
    """A program below the guard; two named pipes lead to it and from it."""

    def __init__(
        self,
        guard: Guarded,
        number: int,
        argv: Sequence[str],
        heard: queue.SimpleQueue[Heard],
    ) -> None:
        self._guard, self._number, self._heard = guard, number, heard
        folder = guard.folder(temporary_parents()[0])
        into, out, self._errors = folder / "input", folder / "output", folder / "errors"
        os.mkfifo(into)
        os.mkfifo(out)
        self._reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # The guard opens a pipe as a file: there must be somebody at the other end already.
        held = os.open(into, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._pid = guard.spawn(
                argv, output=out, error=self._errors, stdin=into, cwd=folder, env=_environment()
            )
            self._writer: int | None = os.open(into, os.O_WRONLY | os.O_CLOEXEC)
        finally:
            os.close(held)
        os.set_blocking(self._reader, True)
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, text: bytes, *, more: bool) -> None:
        if self._writer is None:
            return
        try:
            while text:
                text = text[os.write(self._writer, text) :]
        except BrokenPipeError:
            more = False
        if not more:
            os.close(self._writer)
            self._writer = None

    def signal(self, which: signal.Signals) -> None:
        self._guard.signal(self._pid, which)

    def _listen(self) -> None:
        while chunk := os.read(self._reader, _CHUNK):
            self._heard.put((self._number, chunk.decode("latin-1"), None, ""))
        os.close(self._reader)
        try:
            code = self._guard.wait(self._pid, _END_LIMIT_S)
        except Exception:  # noqa: BLE001 - the guard was killed, and the program with it
            code = -signal.SIGKILL
        if code is None:
            self._guard.signal(self._pid, signal.SIGKILL)
            code = -signal.SIGKILL
        error = self._errors.read_bytes()[-_ERROR_BYTES:] if self._errors.exists() else b""
        self._heard.put((self._number, "", code, error.decode(errors="replace")))


def _environment() -> Mapping[str, str]:
    """Without what Ray has set for its own workers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def _limit(which: int) -> int | None:
    hard = resource.getrlimit(which)[1]
    return None if hard in (resource.RLIM_INFINITY, -1) or hard > _FOREVER else hard


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _ports() -> int | None:
    words = _text("/proc/sys/net/ipv4/ip_local_port_range").split()
    return int(words[1]) - int(words[0]) + 1 if len(words) == 2 else None
