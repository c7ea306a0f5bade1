"""Hosts of a Ray cluster as places; Ray itself is in a process of its own (`ray_driver.py`)."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from dbdyno.errors import MachineError
from dbdyno.places.clock import ClockLine, Trip, clock_line
from dbdyno.places.place import Answer
from dbdyno.places.ray_driver import START
from dbdyno.places.shipped import ENGINE, Shipped, ship

INSTALL = "pip install 'dbdyno[ray]'"

_TIME_LIMIT_S = 15.0
_HEAD_LOST_S = 5
"""After so long without the cluster's head Ray ends its driver."""
_CLOSE_LIMIT_S = 15.0
_WHY_BYTES = 300


class Cluster:
    """The driver process and what it says; `open_cluster` makes it."""

    def __init__(
        self, process: subprocess.Popen[bytes], address: str, shipped: Shipped, log: BinaryIO
    ) -> None:
        self._process, self._log = process, log
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._heard: dict[int, queue.SimpleQueue[Mapping[str, Any]]] = {}
        first = self._first(address)
        self.version = str(first["ray"])
        self.hosts = tuple(
            RayHost(self, index, facts, shipped) for index, facts in enumerate(first["hosts"])
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def tell(self, **command: object) -> None:
        """Sends the driver a command; of a driver that is gone its hosts know by themselves."""
        line = json.dumps(command).encode() + b"\n"
        assert self._process.stdin is not None
        with self._lock, suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def expect(self) -> tuple[int, queue.SimpleQueue[Mapping[str, Any]]]:
        """A new number, and where what is said of it arrives."""
        number = next(self._numbers)
        heard = self._heard[number] = queue.SimpleQueue()
        return number, heard

    def forget(self, number: int) -> None:
        """Nothing more is wanted of that number."""
        self._heard.pop(number, None)

    def close(self) -> None:
        """Ends what runs on the hosts, and the driver."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_CLOSE_LIMIT_S)  # It reads the log, which its maker closes next.

    def _first(self, address: str) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MachineError(
                f"no Ray cluster answers at `{address}`: {self._last_words()}", hint=START
            )
        message: Mapping[str, Any] = json.loads(line)
        if "refused" in message:
            raise MachineError(message["refused"], hint=message["hint"])
        return message

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            host = self.hosts[message["host"]]
            if "trip" in message:
                host.trips.append(Trip(*message["trip"]))
            elif "lost" in message:
                self._lose(host, message["lost"])
            elif heard := self._heard.get(message["number"]):
                heard.put(message)
        for host in self.hosts:
            self._lose(host, f"Ray's head can't be reached any more: {self._last_words()}")

    def _lose(self, host: RayHost, why: str) -> None:
        if not host.lost:
            host.lost = why
            for heard in tuple(self._heard.values()):
                heard.put({"host": host.index, "lost": why})

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:_WHY_BYTES] if lines else "it says nothing"


class RayHost:
    """A host of the cluster; see `Place`."""

    def __init__(
        self, cluster: Cluster, index: int, facts: Mapping[str, object], shipped: Shipped
    ) -> None:
        self.index, self.facts = index, facts
        self.name = str(facts["name"])
        self.trips: list[Trip] = []
        """Round trips to its clock, from the first to the last."""
        self.lost = ""
        """Why nothing more is heard of it."""
        self._cluster, self._shipped = cluster, shipped
        self._line: tuple[int, ClockLine | None] = 0, None
        """The last that was fitted, and through how many trips."""

    @property
    def engine(self) -> Path:
        """The engine that was shipped there."""
        return Path(str(self.facts["root"]), ENGINE)

    def run(self, argv: Sequence[str | Path], error: Path) -> RayProcess:
        self._require()
        return RayProcess(self._cluster, self, argv, error)

    def ask(self, argv: Sequence[str | Path], text: str, limit_s: float) -> Answer:
        self._require()
        words = [str(word) for word in argv]
        reply = self._reply("ask", limit_s, argv=words, text=text)
        if isinstance(reply, str):
            raise OSError(0, reply)
        return Answer(*reply)

    def path(self, file: str) -> str:
        return self._shipped.below(str(self.facts["root"]), file)

    def clock(self) -> ClockLine:
        """Its clock against ours, from all trips so far."""
        known, line = self._line
        if line is None or known < len(self.trips):
            trips = tuple(self.trips)
            line = clock_line(trips)
            self._line = len(trips), line
        return line

    def time(self) -> None:
        """Adds a round trip to `trips` now. Raises `MachineError` if the host is lost."""
        self._require()
        self._reply("time", 0.0)

    def _reply(self, do: str, limit_s: float, **words: object) -> Any:
        number, heard = self._cluster.expect()
        self._cluster.tell(do=do, host=self.index, number=number, limit_s=limit_s, **words)
        try:
            while "answer" not in (message := heard.get(timeout=limit_s + _TIME_LIMIT_S)):
                self._require()
            return message["answer"]
        except queue.Empty as error:
            raise TimeoutError from error
        finally:
            self._cluster.forget(number)

    def _require(self) -> None:
        if self.lost:
            raise MachineError(f"load host {self.name} is lost: {self.lost}")


class RayProcess:
    """A program on a host of the cluster; see `Running`."""

    pid = None

    def __init__(
        self, cluster: Cluster, host: RayHost, argv: Sequence[str | Path], error: Path
    ) -> None:
        self.host = host.name
        self._cluster, self._host, self._error = cluster, host, error
        self._number, self._heard = cluster.expect()
        self._code: int | None = None
        self._lost = ""
        self._refused = ""
        words = [str(word) for word in argv]
        cluster.tell(do="run", host=host.index, number=self._number, argv=words)

    @property
    def lost(self) -> str:
        return self._lost

    def lines(self) -> Iterator[bytes]:
        rest = b""
        while self._code is None:
            *whole, rest = (rest + self._next()).split(b"\n")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest

    def send(self, text: bytes, *, more: bool = True) -> None:
        words = {"text": text.decode("latin-1"), "more": more}
        self._cluster.tell(do="send", host=self._host.index, number=self._number, **words)

    def interrupt(self) -> None:
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def poll(self) -> int | None:
        return self._code

    def wait(self) -> int:
        while self._code is None:
            self._next()
        return self._code

    def close(self) -> None:
        self.kill()
        self._cluster.forget(self._number)

    def ahead_ns(self) -> int:
        return self._host.clock().ahead(time.time_ns())

    def gained_ns(self, over_ns: int) -> int:
        return round(self._host.clock().gained(over_ns))

    def _signal(self, which: signal.Signals) -> None:
        if self._code is None:
            self._cluster.tell(
                do="signal", host=self._host.index, number=self._number, which=int(which)
            )

    def _next(self) -> bytes:
        """What it printed next; sets its exit code with its end."""
        if self._host.lost:
            return self._end_lost(self._host.lost)
        message = self._heard.get()
        if "lost" in message:
            return self._end_lost(message["lost"]) if message["host"] == self._host.index else b""
        if "refused" in message:
            return self._end_lost(f"the engine can't be started there: {message['refused']}")
        if message["code"] is not None:
            self._code = message["code"]
            if message["error"]:
                with self._error.open("a") as log:
                    log.write(message["error"])
        return str(message["text"]).encode("latin-1")

    def _end_lost(self, why: str) -> bytes:
        self._lost, self._code = why, -signal.SIGKILL
        return b""


@contextmanager
def open_cluster(
    address: str,
    hosts: int | Sequence[str],
    engine: Path,
    files: Iterable[Path] = (),
    folders: Iterable[Path] = (),
) -> Iterator[Cluster]:
    """Connects to a Ray cluster and has an actor on each of the hosts: so many, or those of these
    names, or all (`()`).

    The engine, `files`, and scripts in `folders` are shipped there. Raises `MachineError`: Ray
    isn't installed, no cluster answers, or it lacks a host. No process on any host outlives the
    block, nor the lab.
    """
    require_ray()
    # The driver removes it when Ray has it: nothing is left if we are killed.
    folder = Path(tempfile.mkdtemp(prefix="dbdyno-shipped-"))
    try:
        shipped = ship(folder, engine, files, folders)
        words = {"address": address, "hosts": hosts, "shipped": str(folder)}
        with tempfile.TemporaryFile() as log, _driver(log, words) as process:
            cluster = Cluster(process, address, shipped, log)
            try:
                yield cluster
            finally:
                cluster.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _driver(log: BinaryIO, words: Mapping[str, object]) -> Iterator[subprocess.Popen[bytes]]:
    """The driver process, with what it is to connect to; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dbdyno.places.ray_driver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,
        env=_environment(),
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(words).encode() + b"\n")
            process.stdin.flush()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()


def require_ray() -> None:
    """Raises `MachineError` if Ray isn't installed; does not import it."""
    package = find_spec("ray")
    if package is None or package.origin is None:
        raise MachineError("load hosts need Ray, which is not installed", hint=INSTALL)


def _environment() -> Mapping[str, str]:
    """Ray's driver ends soon after the cluster's head, and reports nothing to its makers. A thread
    that asks Ray for something when it has been shut down gets no cluster made for it."""
    return {
        **os.environ,
        "RAY_gcs_rpc_server_reconnect_timeout_s": str(_HEAD_LOST_S),
        "RAY_ENABLE_AUTO_CONNECT": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
