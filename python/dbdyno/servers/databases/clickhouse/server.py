"""A ClickHouse server of one run, with its own data folder and ports."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.clickhouse import query
from dbdyno.servers.databases.clickhouse.configuration import SERVER_PREFIX, document, split
from dbdyno.servers.databases.clickhouse.program import PROGRAM
from dbdyno.servers.databases.clickhouse.session import ClickhouseSession, Place
from dbdyno.servers.folder_size import size_of
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import DATABASE, ROLE, Capacity, ServerSpec, Transport
from dbdyno.servers.setting import changed_by_study, refuse_reserved

_RESERVED = frozenset(
    f"{SERVER_PREFIX}{name}"
    for name in (
        "default_database",
        "default_profile",
        "http_port",
        "listen_host",
        "logger",
        "path",
        "tcp_port",
        "tcp_port_secure",
        "timezone",
        "tmp_path",
        "users_config",
    )
)
"""Settings that dbdyno needs to reach and watch the server."""
_CONNECTIONS = 4096


class ClickhouseServer(OwnServer):
    """Its one user, `dbdyno`, has a password made for the run. It listens on no Unix socket: the
    engine comes to its native port, the lab to its HTTP port. Times are in UTC."""

    _DRIVER = "clickhouse"
    _STOP = signal.SIGTERM
    _session: ClickhouseSession

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        refuse_reserved(spec.settings, _RESERVED)
        super().__init__(spec, folder)
        self._folder = Path()
        self._http_port = 0
        self._session = ClickhouseSession(Place())

    def start(self) -> None:
        """Installs, configures, starts and waits until it takes queries."""
        self._folder = self._install()
        for folder in (self._data, self._configuration):
            folder.mkdir()
            self._daemon.give(folder, mode=0o700)
        self._serve()

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _configuration(self) -> Path:
        return self._folder / "configuration"

    @property
    def _socket(self) -> Path:
        raise ServerError("ClickHouse listens on no Unix socket", hint="use its address")

    def _configure(self) -> None:
        """Writes our settings first, then the study's."""
        if not self._port:
            self._http_port = 0
        self._take_port()
        self._http_port = self._http_port or free_port()
        server, queries = split(self._spec.settings)
        files = self._secured(self._folder)
        ours = {
            "logger.level": "warning",
            "logger.console": "1",
            "listen_host": self._address,
            "tcp_port_secure" if files else "tcp_port": str(self._port),
            "http_port": str(self._http_port),
            "path": f"{self._data}/",
            "tmp_path": f"{self._data}/tmp/",
            "user_files_path": f"{self._data}/user_files/",
            "format_schema_path": f"{self._data}/format_schemas/",
            "users_config": str(self._configuration / "users.xml"),
            "default_profile": "default",
            "default_database": DATABASE,
            "timezone": "UTC",
            "mark_cache_size": str(1 << 30),
            "max_connections": str(_CONNECTIONS),
            "max_concurrent_queries": str(_CONNECTIONS),
        }
        if files:
            ours |= {
                "openSSL.server.certificateFile": str(files["certificate"]),
                "openSSL.server.privateKeyFile": str(files["key"]),
                "openSSL.server.verificationMode": "none",
            }
        user = f"users.{ROLE}."
        profile = {f"profiles.default.{name}": value for name, value in queries.items()}
        users = {
            **(profile or {"profiles.default": ""}),
            f"{user}password": self._password,
            f"{user}networks.ip": "::/0",
            f"{user}profile": "default",
            f"{user}quota": "default",
            "quotas.default": "",
        }
        self._write("config.xml", {**ours, **server})
        self._write("users.xml", users)

    def _write(self, name: str, values: Mapping[str, str]) -> None:
        self._daemon.write_private(self._configuration / name, document(values))

    def _launch(self) -> None:
        self._daemon.launch(
            [self._program, f"--config-file={self._configuration / 'config.xml'}"],
            cwd=self._data,
            env=self._environment("CLICKHOUSE"),
            death_signal=signal.SIGTERM,
        )
        self._session = self._inside()

    def _greet(self) -> None:
        self._session.connection()

    def _not_started(self, reason: str) -> ServerError:
        complaints = re.findall(r"^.*(?:Exception|<Error>).*$", self._logged(), re.MULTILINE)
        why = complaints[0].strip() if complaints else reason
        return ServerError(
            f"{self._daemon.name} did not start: {why}", hint=self._daemon.log_tail()
        )

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Its native port at its address, which has TLS or none for all who come."""
        target = super().target("tcp")
        return {**target, "tls": {"mode": "require"}} if self._spec.tls else target

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        return {
            **self._package_facts(),
            **query.facts(self._session),
            "settings_changed": changed_by_study(self._spec.settings),
        }

    def settings(self) -> Mapping[str, str]:
        """Settings in force of queries and of MergeTree tables."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server, our own few queries included."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its limit and current connections."""
        asked = self._spec.settings.get(f"{SERVER_PREFIX}max_connections", "")
        return query.capacity(self._session, int(asked) if asked.isdecimal() else _CONNECTIONS)

    def size_bytes(self) -> int:
        """Of its data folder."""
        return size_of(self._data)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table."""
        return query.contents(self._session, table, checksum=checksum)

    def tables(self) -> Mapping[str, str]:
        """Tables of the database under load."""
        return query.tables(self._session, DATABASE)

    def table_files(self, table: str) -> Sequence[Path]:
        """Files of a table's parts."""
        folder = self._data / "data" / DATABASE / table
        return sorted(file for file in folder.rglob("*") if file.is_file())

    def ask(self) -> SampledSession | None:
        """A session like an application's; its queries are counted with all others."""
        return self._inside()

    def inside(self) -> Session:
        """Opens a session."""
        return self._inside()

    def _inside(self) -> ClickhouseSession:
        return ClickhouseSession(
            Place(
                host=self._address,
                port=self._http_port,
                user=ROLE,
                password=self._password,
                database=DATABASE,
            )
        )
