"""A Redis or Valkey server of one run, with its own data folder, socket and port."""

import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.redis import query
from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.contents import contents, tables
from dbdyno.servers.databases.redis.session import Place, RedisSession
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport
from dbdyno.servers.setting import changed_by_study, refuse_reserved

_RESERVED = frozenset(
    {
        "aclfile",
        "bind",
        "cluster-enabled",
        "daemonize",
        "dir",
        "include",
        "logfile",
        "pidfile",
        "port",
        "protected-mode",
        "rename-command",
        "requirepass",
        "supervised",
        "tls-cert-file",
        "tls-key-file",
        "tls-port",
        "unixsocket",
        "unixsocketperm",
        "user",
    }
)
"""Settings that dbdyno needs to reach and watch the server."""
_USER = "default"
"""The user whom a client enters as that sends a password and no name."""
_EMPTY = '""'
"""An empty value in its configuration file."""


class RedisServer(OwnServer):
    """Its user `default` has a password made for the run, on the Unix socket too: the server can't
    trust clients by how they connect."""

    _DRIVER = "redis"
    _STOP = signal.SIGTERM
    _session: RedisSession

    def __init__(self, brand: Brand, spec: ServerSpec, folder: Path) -> None:
        refuse_reserved((name.lower() for name in spec.settings), _RESERVED)
        for name, value in spec.settings.items():
            if "\n" in f"{name}{value}":
                raise ServerError(f"{brand.kind}'s `{name}` can't have two lines")
        super().__init__(spec, folder)
        self._brand = brand
        self._folder = Path()
        self._session = RedisSession(Place())

    def start(self) -> None:
        """Installs, configures, starts and waits until it takes commands."""
        self._folder = self._install()
        self._data.mkdir()
        self._daemon.give(self._data, mode=0o700)
        self._serve()

    @property
    def _program(self) -> Path:
        return self._installed().folder / self._brand.program

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _socket(self) -> Path:
        return self._sockets / "socket"

    @property
    def _configuration(self) -> Path:
        return self._folder / f"{self._brand.kind}.conf"

    def _configure(self) -> None:
        """Writes our settings first, then the study's."""
        self._take_port()
        files = self._secured(self._folder)
        ours = {
            "bind": self._address,
            "port": "0" if files else str(self._port),
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._data),
            "daemonize": "no",
            "logfile": "",
            "requirepass": self._password,
        }
        if files:
            ours |= {
                "tls-port": str(self._port),
                "tls-cert-file": str(files["certificate"]),
                "tls-key-file": str(files["key"]),
                "tls-auth-clients": "no",
            }
        settings = {**ours, **self._spec.settings}
        lines = [f"{name} {value or _EMPTY}\n" for name, value in settings.items()]
        self._daemon.write_private(self._configuration, "".join(lines))

    def _launch(self) -> None:
        self._daemon.launch(
            [self._program, self._configuration],
            cwd=self._data,
            env=self._environment("REDIS", "VALKEY"),
            death_signal=signal.SIGTERM,
        )
        self._session = self._inside()

    def _greet(self) -> None:
        self._session.connection()

    def _not_started(self, reason: str) -> ServerError:
        log = self._logged()
        name, tail = self._daemon.name, self._daemon.log_tail()
        if fault := re.search(r"^>>> '(\S+)(.*)'\n(.+)$", log, re.MULTILINE):
            return ServerError(
                f"{name} did not start: setting `{fault[1]}`: {fault[3]}",
                hint=f"`CONFIG GET *` of a running {self._brand.title} lists all; {tail}",
            )
        complaints = re.findall(r" # (.*(?:[Ff]ailed|[Cc]an't|rror).*)", log)
        why = complaints[-1] if complaints else reason
        return ServerError(f"{name} did not start: {why}", hint=tail)

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket, or its address; either with this run's password."""
        own = super().target(transport)
        return {**own, "user": _USER, "password": self._password, "database": "0"}

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        return {
            **self._package_facts(),
            **query.facts(self._session),
            "settings_changed": self._settings_changed(),
        }

    def _settings_changed(self) -> Mapping[str, Mapping[str, str]]:
        """Those of the study, as they are in force."""
        effective, asked = self.settings(), self._spec.settings
        return changed_by_study(
            {name: effective.get(name.lower(), value) for name, value in asked.items()}
        )

    def settings(self) -> Mapping[str, str]:
        """All settings in force, by name."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server, our own few commands included."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Memory of the data."""
        return query.size_bytes(self._session)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a database: `db0`."""
        return contents(self._inside(), table, checksum=checksum)

    def tables(self) -> Mapping[str, str]:
        """Databases that hold keys."""
        return tables(self._inside())

    def table_files(self, table: str) -> Sequence[Path]:
        """None: its data are in memory."""
        return ()

    def ask(self) -> SampledSession | None:
        """A session like an application's; its commands are counted with all others."""
        return self._inside()

    def inside(self) -> Session:
        """Opens a session; its statements are commands, words apart as in a shell."""
        return self._inside()

    def _inside(self) -> RedisSession:
        return RedisSession(Place(unix=str(self._socket), password=self._password))
