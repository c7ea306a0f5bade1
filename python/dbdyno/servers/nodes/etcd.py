"""A single etcd of one run, which a cluster's nodes agree by; removed afterwards."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.launch import Launch
from dbdyno.servers.nodes.daemon import Daemon, free_port
from dbdyno.servers.nodes.place import data_folder

ETCD = "etcd"
"""The program, as Debian's package `etcd-server` installs it."""
_LOOPBACK = "127.0.0.1"
_READY_LIMIT_S = 30.0
_POLL_S = 0.02


class Etcd:
    """One member: it does not survive its own death, as three on machines of their own would."""

    def __init__(self, folder: Path, launch: Launch) -> None:
        # Of how servers are started it shares the network alone.
        launched = Launch(network=launch.network, address=launch.address)
        self._daemon = Daemon(ETCD, folder.absolute() / "etcd.log", launched)
        self._host = launch.address or _LOOPBACK
        self._port = 0

    @property
    def place(self) -> str:
        """Host and port for its clients, once it is started."""
        return f"{self._host}:{self._port}"

    def start(self) -> None:
        """Returns when it takes connections. Raises `ServerError`."""
        daemon = self._daemon
        daemon.prepare()
        folder = data_folder(daemon.guarded, daemon.log.parent, daemon.account, daemon.launched)
        self._port = free_port()
        clients, peers = f"http://{self.place}", f"http://{self._host}:{free_port()}"
        options = {
            "name": ETCD,
            "data-dir": str(folder / "data"),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"{ETCD}={peers}",
            "logger": "zap",
        }
        daemon.launch(
            [ETCD, *(word for name, value in options.items() for word in (f"--{name}", value))],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
            death_signal=signal.SIGKILL,
        )
        self._await()

    def _await(self) -> None:
        deadline = time.monotonic() + _READY_LIMIT_S
        while time.monotonic() < deadline:
            try:
                with socket.create_connection((self._host, self._port), timeout=1.0):
                    return
            except OSError:
                self._daemon.check()
                select.select([], [], [], _POLL_S)
        raise ServerError(
            f"etcd takes no connections after {_READY_LIMIT_S:.0f} s", hint=self._daemon.log_tail()
        )

    def alive(self) -> bool:
        """Whether it runs."""
        return self._daemon.alive()

    def check(self) -> None:
        """Raises `ServerError` if it has ended without being asked to."""
        self._daemon.check()

    def processes(self) -> Sequence[int]:
        """Its pid, while it runs."""
        return self._daemon.processes()

    def log_files(self) -> Sequence[Path]:
        """What it has written, kept with the run."""
        return (self._daemon.log,)

    def stop(self) -> None:
        """Ends it in order; does nothing if it has ended."""
        self._daemon.end(signal.SIGTERM)

    def close(self) -> None:
        """Stops it if necessary and removes its folder."""
        try:
            self.stop()
        finally:
            self._daemon.guarded.close()
