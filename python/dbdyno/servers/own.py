"""A server of one run that is a process of ours: what is the same whatever its kind.

A kind's `server.py` says how it is installed, configured and launched, and what it is asked; how it
gets a port, is waited for, watched, ended and cleared away stands here, over its `Daemon`.
"""

import os
import secrets
import signal
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers.cache import sha256_of
from dbdyno.servers.certificate import make_certificate
from dbdyno.servers.daemon import Daemon
from dbdyno.servers.direct import Direct
from dbdyno.servers.packaged import Programs
from dbdyno.servers.protocol import DATABASE, ROLE, Provision, Transport
from dbdyno.servers.source.debian import real_program

_READY_LIMIT_S = 120.0
_POLL_S = 0.02
_PORT_ATTEMPTS = 3
_LOOPBACK = "127.0.0.1"


class Session(Protocol):
    """The lab's own connection to a server."""

    def close(self) -> None:
        """Closes it; the next statement opens another."""


class OwnServer(Direct):
    """Started as the account for servers, as a child of a guard; gone with its run.

    Its role `dbdyno` is trusted on the Unix socket, which only its owner and root reach; on
    loopback it has a password made for this run.
    """

    _DRIVER: ClassVar[str]
    """The engine's name of the protocol it speaks."""
    _STOP: ClassVar[signal.Signals]
    """Asks it to shut down in good order."""
    _DROP: ClassVar[signal.Signals] = signal.SIGKILL
    """Ends it at once, with nothing of it left in the kernel."""
    _session: Session

    def __init__(self, provision: Provision, folder: Path) -> None:
        self._provision = provision
        self._password = secrets.token_urlsafe(24)
        name = f"{provision.kind} {provision.version}"
        self._daemon = Daemon(name, folder.absolute() / "server.log", provision.launch)
        self._port = 0
        self._log_start = 0
        self._programs: Programs | None = None
        self._sockets = Path()

    def _secured(self, folder: Path) -> Mapping[str, Path]:
        """Certificate and key of this run, made once; nothing where no TLS is asked for."""
        if not self._provision.tls:
            return {}
        certificate, key = folder / "server-certificate.pem", folder / "server-key.pem"
        if not certificate.exists():
            make_certificate(self._daemon, certificate, key, self._address)
        return {"certificate": certificate, "key": key}

    @property
    @abstractmethod
    def _program(self) -> Path:
        """The server's own program."""

    @property
    @abstractmethod
    def _data(self) -> Path:
        """Its data folder."""

    @property
    @abstractmethod
    def _socket(self) -> Path:
        """Where it listens on this machine."""

    @abstractmethod
    def _configure(self) -> None:
        """Takes a free port and writes the settings."""

    @abstractmethod
    def _launch(self) -> None:
        """Starts the process."""

    @abstractmethod
    def _greet(self) -> None:
        """Connects; `ConnectError` when it does not take connections yet."""

    @abstractmethod
    def _not_started(self, reason: str) -> ServerError:
        """Why it did not start, by its log if that says more than the reason known."""

    def _installed(self) -> Programs:
        assert self._programs is not None, "start() installs first"
        return self._programs

    def _environment(self, *prefixes: str) -> Mapping[str, str]:
        """Ours without what the server would take for itself, in the C locale and in UTC."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        return {**kept, "LC_ALL": "C", "TZ": "UTC"}

    def _serve(self, limit_s: float = _READY_LIMIT_S) -> None:
        """Launches it and waits; on another port when somebody was quicker to take the first."""
        for attempt in range(_PORT_ATTEMPTS):
            self._configure()
            self._log_start = self._daemon.log_size()
            self._launch()
            if self._wait_until_ready(limit_s):
                return
            port_was_taken = "Address already in use" in self._logged()
            if not port_was_taken or attempt == _PORT_ATTEMPTS - 1:
                raise self._not_started(self._daemon.exit_description())

    def _logged(self) -> str:
        """Its log since it was started last."""
        return self._daemon.logged_since(self._log_start)

    def _wait_until_ready(self, limit_s: float) -> bool:
        """Connects as soon as that works; `False` when the server ended instead."""
        deadline = time.monotonic() + limit_s
        while True:
            try:
                self._greet()
                return True
            except ServerError as error:
                if self._daemon.ended_within(_POLL_S):
                    return False
                if time.monotonic() > deadline or not isinstance(error, ConnectError):
                    raise self._not_started(error.message) from error

    def _package_facts(self) -> Mapping[str, object]:
        """Where the programs came from, and which they are."""
        return {
            "kind": self._provision.kind,
            **self._installed().facts,
            "program_sha256": sha256_of(real_program(self._program)),
        }

    @property
    def _address(self) -> str:
        """Where it listens for TCP."""
        return self._provision.launch.address or _LOOPBACK

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket, or its address with the password of this run."""
        if transport is None:
            transport = "unix" if self._address == _LOOPBACK else "tcp"
        target: dict[str, object] = {
            "driver": self._DRIVER,
            "user": ROLE,
            "database": DATABASE,
        }
        if transport == "unix":
            endpoint: object = {"unix": str(self._socket)}
        else:
            endpoint = {"tcp": {"host": self._address, "port": self._port}}
            target["password"] = self._password
        return {**target, "endpoints": [endpoint]}

    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self._daemon.alive()

    def check(self) -> None:
        """Raises when the process has ended without being asked to."""
        self._daemon.check()

    def ended_with(self) -> int | None:
        """Of the process that was started last."""
        return self._daemon.exit_code()

    def data_folder(self) -> Path | None:
        """Its own; gone with it."""
        return self._data

    def processes(self) -> Sequence[int]:
        """The server's process and those it has made, and theirs."""
        return self._daemon.processes()

    def log_files(self) -> Sequence[Path]:
        """What the server wrote, the making of its data folder included."""
        return (self._daemon.log,)

    def stop(self) -> None:
        """Orderly shutdown: sessions are cut, what its settings say is written."""
        self._end(self._STOP)

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def drop(self) -> None:
        """Nothing is written, and shared memory goes."""
        self._end(self._DROP)

    def restart(self, limit_s: float) -> None:
        """On another port; its role and settings are what they were."""
        self._session.close()
        self._serve(limit_s)

    def _end(self, number: signal.Signals) -> None:
        self._session.close()
        self._daemon.end(number)

    def close(self) -> None:
        """Stops it and removes data and socket."""
        try:
            self.stop()
        finally:
            self._daemon.guarded.close()
