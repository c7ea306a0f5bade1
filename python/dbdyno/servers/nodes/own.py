"""A server of one run that is a process of ours: the parts common to all kinds.

A kind's `server.py` says how it is installed, configured, launched and queried; ports, waiting,
watching, stopping and removal are here, on top of its `Daemon`.
"""

import os
import secrets
import signal
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ConnectError, ServerError
from dbdyno.model.session import Session
from dbdyno.servers.nodes.certificate import make_certificate
from dbdyno.servers.nodes.daemon import Daemon, free_port
from dbdyno.servers.nodes.direct import Direct
from dbdyno.servers.nodes.pause import Pause
from dbdyno.servers.nodes.place import data_folder, socket_folder
from dbdyno.servers.protocol import DATABASE, ROLE, ServerSpec, Transport
from dbdyno.servers.sources.cache import sha256_of
from dbdyno.servers.sources.debian import real_program
from dbdyno.servers.sources.packaged import Programs, install

_READY_LIMIT_S = 120.0
_POLL_S = 0.02
_PORT_ATTEMPTS = 3
_LOOPBACK = "127.0.0.1"


class OwnServer(Direct):
    """Started under the server account, as a child of a guard; removed after its run.

    Its role `dbdyno` is trusted on the Unix socket, which only its owner and root can reach; on
    loopback it has a password made for this run.
    """

    _DRIVER: ClassVar[str]
    """The engine's name of the protocol it speaks."""
    _STOP: ClassVar[signal.Signals]
    """Signal for an orderly shutdown."""
    _DROP: ClassVar[signal.Signals] = signal.SIGKILL
    """Signal that ends it at once without leaving anything in the kernel."""
    _session: Session

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        self._spec = spec
        self.launched = spec.launch
        provision = self._provision = spec.provision
        self._password = secrets.token_urlsafe(24)
        name = f"{provision.kind} {provision.version}"
        self._daemon = Daemon(name, folder.absolute() / "server.log", spec.launch)
        self._pause = Pause(self._daemon)
        self._port = 0
        self._log_start = 0
        self._programs: Programs | None = None
        self._sockets = Path()

    def share_password(self, other: "OwnServer") -> None:
        """Has the password of a server whose clients are to reach this one, too."""
        self._password = other._password

    def _secured(self, folder: Path, *, anyway: bool = False) -> Mapping[str, Path]:
        """Certificate and key of this run, made once; nothing where no TLS is asked for, unless
        `anyway`."""
        if not (self._spec.tls or anyway):
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
        """Takes a port (`_take_port`) and writes the settings."""

    def _take_port(self) -> None:
        """Keeps its port, so that clients find it after a restart; at first takes a free one."""
        self._port = self._port or free_port()

    @abstractmethod
    def _launch(self) -> None:
        """Starts the process."""

    @abstractmethod
    def _greet(self) -> None:
        """Connects; `ConnectError` when it does not take connections yet."""

    @abstractmethod
    def _not_started(self, reason: str) -> ServerError:
        """Why it did not start: from its log if that says more than the known reason."""

    def _install(self) -> Path:
        """Gets its programs and a folder for its sockets; returns a folder for its data."""
        daemon = self._daemon
        daemon.prepare()
        self._programs = install(self._provision, daemon.account)
        self._sockets = socket_folder(daemon.guarded, daemon.account)
        return data_folder(daemon.guarded, daemon.log.parent, daemon.account, daemon.launched)

    def _installed(self) -> Programs:
        assert self._programs is not None, "start() installs first"
        return self._programs

    def _environment(self, *prefixes: str) -> Mapping[str, str]:
        """Our environment without variables that the server reads, in the C locale and in UTC."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        return {**kept, "LC_ALL": "C", "TZ": "UTC"}

    def _serve(self, limit_s: float = _READY_LIMIT_S) -> None:
        """Launches it and waits; tries another port if another process took the first."""
        for attempt in range(_PORT_ATTEMPTS):
            self._configure()
            self._sync()
            self._log_start = self._daemon.log_size()
            self._launch()
            if self._wait_until_ready(limit_s):
                return
            port_was_taken = "address already in use" in self._logged().lower()
            if not port_was_taken or attempt == _PORT_ATTEMPTS - 1:
                raise self._not_started(self._daemon.exit_description())
            self._port = 0

    def _sync(self) -> None:
        """A power failure of its file system (`launch.data_parent`) takes nothing that we wrote."""
        parent = self._spec.launch.data_parent
        if parent is not None:
            self._daemon.guarded.run(["sync", "--file-system", parent])

    def _logged(self) -> str:
        """Its log since it was started last."""
        return self._daemon.logged_since(self._log_start)

    def _wait_until_ready(self, limit_s: float) -> bool:
        """Connects as soon as possible; `False` if the server ended instead."""
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
        return self._spec.launch.address or _LOOPBACK

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket, or its address with this run's password."""
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
            # The server is ours: its key can be trusted.
            if self._DRIVER == "mysql":
                target["asks_for_public_key"] = True
        return {**target, "endpoints": [endpoint]}

    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self._daemon.alive()

    def check(self) -> None:
        """Raises when the process has ended without being asked to."""
        self._daemon.check()

    def ended_with(self) -> int | None:
        """Exit code of the process started last."""
        return self._daemon.exit_code()

    def data_folder(self) -> Path | None:
        """Its own folder, removed with it."""
        return self._data

    def processes(self) -> Sequence[int]:
        """The server's process and its descendants."""
        return self._daemon.processes()

    def log_files(self) -> Sequence[Path]:
        """The server's logs, including that of making its data folder."""
        return (self._daemon.log,)

    def stop(self) -> None:
        """Orderly shutdown: sessions are cut, and data are written as its settings say."""
        self._end(self._STOP)

    def kill(self) -> None:
        """Kills the server's process with SIGKILL."""
        self._end(signal.SIGKILL)

    def drop(self) -> None:
        """Ends it without writing data; removes shared memory."""
        self._end(self._DROP)

    def pause(self) -> None:
        """Stops its processes where they are."""
        self._pause.begin()

    def resume(self) -> None:
        """Lets them go on."""
        self._pause.end()

    def restart(self, limit_s: float) -> None:
        """Starts it with the same role and settings, on its port if nobody else has taken that."""
        self._session.close()
        self._serve(limit_s)

    def _end(self, number: signal.Signals) -> None:
        self._pause.end()
        self._session.close()
        self._daemon.end(number)

    def close(self) -> None:
        """Stops it and removes data and socket."""
        try:
            self.stop()
        finally:
            self._daemon.guarded.close()
