"""A Ray cluster of this machine for tests; its processes are a guard's, and end with the test."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from unittest import mock

import psutil

from dbdyno.guard.guarded import Guarded

_Answer = TypeVar("_Answer")

LIMIT_S = 300.0
_OBJECTS = 80_000_000
"""Bytes of each host's object store: the least that Ray takes."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Hosts by their names; the first is the head."""

    address: str
    folder: Path
    pids: dict[str, int]
    client_port: int = 0
    """Of the head's server for those who are no node of the cluster."""

    def raylet(self, host: str) -> psutil.Process:
        """The daemon of a host."""
        return next(p for p in self._below(host) if p.name() == "raylet")

    def actor(self, host: str) -> psutil.Process:
        """What runs programs on a host."""
        return next(p for p in self._below(host) if "LoadHost" in " ".join(p.cmdline()))

    def head(self) -> psutil.Process:
        """The cluster's memory, without which it ends."""
        return next(p for p in self._below(next(iter(self.pids))) if p.name() == "gcs_server")

    def engines(self) -> list[psutil.Process]:
        """Engines that this cluster's hosts run."""
        return [p for p in psutil.process_iter() if self._is_engine(p)]

    def _is_engine(self, process: psutil.Process) -> bool:
        try:
            # `psutil` remembers what a process was before its `exec`.
            program = Path(f"/proc/{process.pid}/exe").readlink()
            return program.is_relative_to(self.folder) and "run" in process.cmdline()
        except (psutil.Error, OSError):
            return False

    def _below(self, host: str) -> Sequence[psutil.Process]:
        return psutil.Process(self.pids[host]).children(recursive=True)

    def wait_for_engines(self, count: int) -> list[int]:
        """Pids of that many engines, as soon as there are."""
        return [engine.pid for engine in eventually(lambda: exactly(self.engines(), count))]

    def wait_until_clean(self) -> None:
        """Returns once no program of ours runs on any host."""
        eventually(lambda: not self.engines())
        eventually(lambda: not any(map(_is_guard_of_host, psutil.process_iter())))


def exactly(processes: Sequence[psutil.Process], count: int) -> Sequence[psutil.Process]:
    return processes if len(processes) == count else ()


def eventually(ask: Callable[[], _Answer]) -> _Answer:
    """The first answer that holds."""
    deadline = time.monotonic() + LIMIT_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, "does not come true"
        time.sleep(0.1)
    return answer


def _is_guard_of_host(process: psutil.Process) -> bool:
    """A guard whose package lies where Ray has unpacked it."""
    try:
        name = psutil.Process(process.pid).name()
        return any("_ray_pkg_" in word for word in process.cmdline()) and "ray" not in name
    except psutil.Error:
        return False


def is_up(log: Path) -> bool:
    """Whether the `ray start` that writes this has done its work."""
    return "Ray runtime started" in log.read_text()


@contextmanager
def open_ray(names: Sequence[str]) -> Iterator[RayCluster]:
    """Starts a host for each name, the first with the cluster's head."""
    # Ray's sockets lie in it, whose paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        # Of this process, too: what it starts may use the cluster, and nobody else.
        with mock.patch.dict(os.environ, secret), Guarded() as guard:
            port, client = free_ports(2)
            pids: dict[str, int] = {}
            for name in names:
                head = not pids
                own = [f"--address=127.0.0.1:{port}"]
                if head:
                    own = [f"--port={port}", f"--ray-client-server-port={client}", "--head"]
                    own += ["--include-dashboard=false", f"--temp-dir={folder}"]
                log = folder / f"{name}.log"
                pids[name] = guard.spawn(
                    [
                        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *own),
                        *("--node-ip-address=127.0.0.1", f"--node-name={name}", "--num-cpus=1"),
                        *(f"--object-store-memory={_OBJECTS}", "--disable-usage-stats"),
                        *("--min-worker-port=0", "--max-worker-port=0"),
                    ],
                    output=log,
                    cwd=folder,
                    env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
                    kept=True,
                )
                eventually(partial(is_up, log))
            yield RayCluster(f"127.0.0.1:{port}", folder, pids, client)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports
