"""A server of MongoDB's protocol of one run, with its own data folder, socket and port.

MongoDB's has no users: whoever can connect to its address on this machine may do anything.
"""

from __future__ import annotations

import re
import signal
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mongodb import query
from dbdyno.servers.databases.mongodb.session import MongodbSession, Place
from dbdyno.servers.folder_size import size_of
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import DATABASE, Capacity, ServerSpec, Transport
from dbdyno.servers.setting import changed_by_study, refuse_reserved

_RESERVED = frozenset(
    {
        "auth",
        "bind_ip",
        "bind_ip_all",
        "config",
        "dbpath",
        "fork",
        "keyFile",
        "logpath",
        "pidfilepath",
        "port",
        "syslog",
        "tlsCertificateKeyFile",
        "tlsMode",
        "unixSocketPrefix",
    }
)
"""Options that dbdyno needs to reach and watch the server."""


class DocumentServer(OwnServer):
    """What MongoDB and others of its protocol have in common."""

    _DRIVER = "mongodb"
    _STOP = signal.SIGTERM
    _session: MongodbSession

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(spec, folder)
        self._folder = Path()
        self._session = MongodbSession(Place())

    def start(self) -> None:
        """Installs, configures, starts and waits until it takes commands."""
        self._folder = self._install()
        self._data.mkdir()
        self._daemon.give(self._data, mode=0o700)
        self._serve()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """The program's arguments."""

    def _configure(self) -> None:
        self._take_port()

    def _launch(self) -> None:
        self._daemon.launch(
            [self._program, *self._command()],
            cwd=self._data,
            env=self._environment("MONGO", "FERRETDB"),
            death_signal=signal.SIGTERM,
        )
        self._session = self._inside()

    def _greet(self) -> None:
        self._session.connection()

    def _not_started(self, reason: str) -> ServerError:
        complaints = re.findall(r"(?im)^.*(?:error|invalid|unrecognised).*$", self._logged())
        why = complaints[-1].strip() if complaints else reason
        return ServerError(
            f"{self._daemon.name} did not start: {why}", hint=self._daemon.log_tail()
        )

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket, or its address; without a user."""
        own = {**super().target(transport), "user": "", "database": DATABASE}
        own.pop("password", None)
        return own

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        return {
            **self._package_facts(),
            **query.facts(self._session),
            "durability": self._durability(),
            "settings_changed": changed_by_study(self._spec.settings),
        }

    @abstractmethod
    def _durability(self) -> str:
        """The class printed beside every number."""

    def settings(self) -> Mapping[str, str]:
        """All parameters in force, by name."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server, our own few commands included."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Of its data folder."""
        return size_of(self._data)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a collection."""
        return query.contents(self._inside(), table, checksum=checksum)

    def tables(self) -> Mapping[str, str]:
        """Collections of the database under load."""
        return query.tables(self._inside())

    def table_files(self, table: str) -> Sequence[Path]:
        """None that are a collection's alone."""
        return ()

    def ask(self) -> SampledSession | None:
        """A session like an application's; its commands are counted with all others."""
        return self._inside()

    def inside(self) -> Session:
        """Opens a session; its statements are commands in JSON."""
        return self._inside()

    def _inside(self) -> MongodbSession:
        return MongodbSession(Place(unix=str(self._socket), database=DATABASE))


class MongodServer(DocumentServer):
    """MongoDB's own server. Settings are its options, and its parameters by a name that begins with
    setParameter and a dot."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        refuse_reserved(spec.settings, _RESERVED)
        super().__init__(spec, folder)

    @property
    def _program(self) -> Path:
        return self._installed().folder / "mongod"

    @property
    def _socket(self) -> Path:
        return self._sockets / f"mongodb-{self._port}.sock"

    def _command(self) -> Sequence[str]:
        ours = {
            "dbpath": str(self._data),
            "port": str(self._port),
            "bind_ip": self._address,
            "unixSocketPrefix": str(self._sockets),
        }
        words: list[str] = []
        for name, value in {**ours, **self._spec.settings}.items():
            option, _, parameter = name.partition(".")
            words += [f"--{option}", f"{parameter}={value}" if parameter else value]
        return [word for word in words if word]

    def _durability(self) -> str:
        return query.durability(self._session)
