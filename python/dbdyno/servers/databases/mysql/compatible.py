"""A server of one run that speaks MySQL's protocol and is neither MySQL nor MariaDB."""

from __future__ import annotations

import re
import signal
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.model.session import SampledSession
from dbdyno.servers.databases.mysql import query
from dbdyno.servers.databases.mysql.session import Address, MysqlSession
from dbdyno.servers.folder_size import size_of
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import DATABASE, ROLE, ServerSpec, Transport
from dbdyno.servers.setting import changed_by_study, refuse_reserved

_WORDS: Mapping[str, bool] = {"true": True, "on": True, "false": False, "off": False}


class MysqlCompatible(OwnServer):
    """Its one account, the role `dbdyno`, has all privileges and a password made for the run, on
    the Unix socket too."""

    _DRIVER = "mysql"
    _STOP = signal.SIGTERM
    _TITLE: ClassVar[str]
    _RESERVED: ClassVar[frozenset[str]]
    """Settings that dbdyno needs to reach and watch the server."""
    _session: MysqlSession

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        refuse_reserved(spec.settings, self._RESERVED)
        super().__init__(spec, folder)
        self._folder = Path()
        self._session = MysqlSession(self._TITLE, Address(ROLE))

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _account_statements(self) -> str:
        """Make the database and its account."""
        return (
            f"CREATE DATABASE {DATABASE};\n"
            f"CREATE USER '{ROLE}'@'%' IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{ROLE}'@'%' WITH GRANT OPTION;\n"
        )

    def _launch_program(
        self, argv: Sequence[str | Path], env: Mapping[str, str], death_signal: signal.Signals
    ) -> None:
        """Starts the server's program, with a session for the lab."""
        self._daemon.launch(argv, cwd=self._data, env=env, death_signal=death_signal)
        self._session = MysqlSession(self._TITLE, self._place())

    def _greet(self) -> None:
        self._session.connection()

    def _place(self) -> Address:
        return Address(ROLE, self._password, DATABASE, self._socket)

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket, or its address; either with this run's password."""
        return {**super().target(transport), "password": self._password}

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        return {
            **self._package_facts(),
            **self._stated_facts(),
            "settings_changed": changed_by_study(self._spec.settings),
        }

    @abstractmethod
    def _stated_facts(self) -> Mapping[str, object]:
        """What the running server says of itself."""

    def settings(self) -> Mapping[str, str]:
        """All global variables; many mean something in MySQL only."""
        return query.settings(self._session)

    def size_bytes(self) -> int:
        """Of its data folder."""
        return size_of(self._data)

    def tables(self) -> Mapping[str, str]:
        """Tables of the database under load."""
        return query.tables(self._session, DATABASE)

    def table_files(self, table: str) -> Sequence[Path]:
        """None that are a table's alone: all lie in one store."""
        return ()

    def ask(self) -> SampledSession | None:
        """A session like an application's; its statements are counted with all others."""
        return self.inside()

    def inside(self) -> MysqlSession:
        """Opens a session as its role."""
        return MysqlSession(self._TITLE, self._place(), answer_limit_s=None)


def typed(value: str) -> object:
    """A whole number or a truth as such, all else as text: configuration files have types."""
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    return int(value) if re.fullmatch(r"-?\d+", value) else value
