"""A PostgreSQL server of one run, with its own data folder, socket and port; removed afterwards."""

import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.postgresql import functions, query
from dbdyno.servers.databases.postgresql.contents import contents, tables
from dbdyno.servers.databases.postgresql.features import configured
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import (
    DATABASE,
    ROLE,
    Capacity,
    ServerSpec,
)
from dbdyno.servers.setting import refuse_reserved, unknown_setting

_INIT_LIMIT_S = 120.0
_RESERVED = frozenset(
    {
        "data_directory",
        "hba_file",
        "listen_addresses",
        "log_destination",
        "logging_collector",
        "port",
        "unix_socket_directories",
    }
)
"""Settings that dbdyno needs to reach and watch the server."""
_CHECKSUMS = "data_checksums"
"""The server's own name for what is settled when its data folder is made."""
_FILES = """
    WITH whole AS (SELECT oid, reltoastrelid FROM pg_class WHERE oid = %s::regclass)
    SELECT pg_relation_filepath(oid) AS path FROM whole
    UNION ALL SELECT pg_relation_filepath(reltoastrelid) FROM whole WHERE reltoastrelid <> 0
    UNION ALL SELECT pg_relation_filepath(indexrelid) FROM pg_index
        WHERE indrelid IN (SELECT unnest(ARRAY[oid, reltoastrelid]) FROM whole)"""


class PostgresqlServer(OwnServer):
    """Its role owns the database `sbtest`."""

    _DRIVER = "postgresql"
    _STOP = signal.SIGINT
    _DROP = signal.SIGQUIT
    _session: query.PostgresqlSession

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        # What is refused is refused before there is a guard that would have to be closed.
        refuse_reserved(spec.settings, _RESERVED)
        if spec.settings.get(_CHECKSUMS) not in (None, "on", "off"):
            raise ServerError(f"postgresql's `{_CHECKSUMS}` is on or off")
        if spec.c_functions:
            functions.require(spec.provision)
        super().__init__(spec, folder)
        settings = dict(spec.settings)
        self._checksums = settings.pop(_CHECKSUMS, None)
        self._asked = settings
        self._folder = Path()
        self._session = query.PostgresqlSession()
        self._functions: Mapping[str, object] = {}
        self._has_others_password = False
        """The data folder is a copy, in which the role has the password of an earlier server."""

    def start(self) -> None:
        """Installs, initialises, configures, starts and waits until it takes statements."""
        self._folder = self._install()
        self._initialise()
        self._compile_functions()
        self._serve()
        self._furnish()

    def _furnish(self) -> None:
        """Gives the role its password and makes the database under load."""
        if self._has_others_password:
            self._set_password()
        self._session.rows(f"CREATE DATABASE {DATABASE}")
        if "pg_stat_statements" in query.settings(self._session)["shared_preload_libraries"]:
            self._session.rows("CREATE EXTENSION pg_stat_statements")

    def _set_password(self) -> None:
        """Encrypts it here: a server may log statements."""
        encrypt = self._session.connection().pgconn.encrypt_password
        encrypted = encrypt(self._password.encode(), ROLE.encode()).decode()
        self._session.rows(f"ALTER ROLE {ROLE} PASSWORD '{encrypted}'")

    @property
    def _program(self) -> Path:
        return self._programs_folder / "postgres"

    @property
    def _major(self) -> int:
        """Major version: 9 for 9.6.24, 19 for 19~rc1."""
        numbers = re.match(r"\d+", str(self._provision.version))
        assert numbers is not None, "versions begin with a number"
        return int(numbers[0])

    @property
    def _programs_folder(self) -> Path:
        return self._installed().folder

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _socket(self) -> Path:
        return self._sockets / f".s.PGSQL.{self._port}"

    def _initialise(self) -> None:
        """Provides the data folder: new, or a copy of one made before with the same options."""
        initial = self._spec.initial
        if initial is None:
            self._make_data()
            return
        made_with = (self._program, *self._checksum_options())
        account = self._daemon.account
        self._has_others_password = initial.provide(
            made_with, self._data, self._make_data, account=account, synced=False
        )

    def _make_data(self) -> None:
        """Calls initdb, which does not sync the new data folder."""
        password_file = self._sockets / "password"
        self._daemon.write_private(password_file, self._password + "\n")
        scram = self._major >= 10
        try:
            self._daemon.run_helper(
                [
                    self._programs_folder / "initdb",
                    "--pgdata",
                    self._data,
                    "--username",
                    ROLE,
                    "--pwfile",
                    password_file,
                    "--auth-local",
                    "trust",
                    "--auth-host",
                    "scram-sha-256" if scram else "md5",
                    "--encoding",
                    "UTF8",
                    "--locale",
                    "C",
                    "-N",
                    *self._checksum_options(),
                ],
                cwd=self._sockets,
                env=self._environment("PG"),
                limit_s=_INIT_LIMIT_S,
            )
        finally:
            password_file.unlink()

    @property
    def _libraries(self) -> Path:
        """The folder of C functions."""
        return self._folder / "functions"

    def _compile_functions(self) -> None:
        sources = self._spec.c_functions
        if not sources:
            return
        self._libraries.mkdir()
        self._functions = functions.compile_functions(
            self._provision, self._programs_folder, sources, self._libraries
        )
        for path in (self._libraries, *self._libraries.iterdir()):
            self._daemon.give(path)

    def _checksum_options(self) -> Sequence[str]:
        """Data checksums: off by default up to 17, on from 18."""
        if self._checksums == "on":
            return ["--data-checksums"]
        return ["--no-data-checksums"] if self._checksums and self._major >= 18 else []

    def _configure(self) -> None:
        """Writes our settings first, then the study's: the last line wins."""
        self._take_port()
        ours = {
            "listen_addresses": self._address,
            "port": str(self._port),
            "unix_socket_directories": str(self._sockets),
            "logging_collector": "off",
        }
        if self._major >= 10:
            ours["password_encryption"] = "scram-sha-256"
        if self._functions:
            ours["dynamic_library_path"] = f"$libdir:{self._libraries}"
        if self._has_statement_statistics():
            ours["shared_preload_libraries"] = "pg_stat_statements"
        if files := self._secured(self._folder):
            ours |= {
                "ssl": "on",
                "ssl_cert_file": str(files["certificate"]),
                "ssl_key_file": str(files["key"]),
            }
        lines = [f"{name} = {_quoted(value)}\n" for name, value in {**ours, **self._asked}.items()]
        (self._data / "dbdyno.conf").write_text("".join(lines))
        self._daemon.give(self._data / "dbdyno.conf")
        self._admit()
        main = self._data / "postgresql.conf"
        include = "include = 'dbdyno.conf'\n"
        if include not in main.read_text():
            with main.open("a") as file:
                file.write(include)

    def _admit(self) -> None:
        """Lets the role in from the network of an address that isn't loopback."""
        # `md5` also asks for SCRAM where that is stored.
        rules = f"host all,replication {ROLE} samenet md5\n"
        access = self._data / "pg_hba.conf"
        if self._spec.launch.address and rules not in access.read_text():
            with access.open("a") as file:
                file.write(rules)

    def _has_statement_statistics(self) -> bool:
        """Whether the package carries the extension; wherever its share folder is.

        Distributions have it beside all others: /usr/share/postgresql/17.
        """
        pattern = "**/extension/pg_stat_statements.control"
        root = self._programs_folder.parent.resolve()
        shares = (root / "share", *(p / "share/postgresql" / root.name for p in root.parents[2:3]))
        return any(True for share in shares for _ in share.glob(pattern))

    def _start_process(self) -> None:
        self._daemon.launch(
            [self._program, "-D", self._data],
            cwd=self._data,
            env=self._environment("PG"),
            death_signal=signal.SIGQUIT,
        )

    def _launch(self) -> None:
        self._start_process()
        self._session = query.PostgresqlSession(
            host=str(self._sockets), port=self._port, user=ROLE, dbname="postgres"
        )

    def _greet(self) -> None:
        self._session.connection()

    def _not_started(self, reason: str) -> ServerError:
        log = self._logged()
        if unknown := re.search(r'unrecognized configuration parameter "([^"]+)"', log):
            known = self._setting_names()
            manual = "look at the server's manual"
            return unknown_setting(self._daemon.name, unknown[1], known, manual)
        complaints = re.findall(
            r"(?:FATAL|LOG|ERROR):  (.*(?:invalid value|requires|outside).*)", log
        )
        complaint = complaints[-1] if complaints else reason
        offered = re.search(r"HINT:  Available values: (.+?)\.?$", log, re.MULTILINE)
        if complaints and offered and offered[1] not in complaint:
            complaint = f"{complaint} (available: {offered[1]})"
        return ServerError(
            f"{self._daemon.name} did not start: {complaint}", hint=self._daemon.log_tail()
        )

    def _setting_names(self) -> Sequence[str]:
        described = subprocess.run(
            [self._program, "--describe-config"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [line.split("\t")[0] for line in described.stdout.splitlines()]

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        compiled = {"c_functions": self._functions} if self._functions else {}
        options = query.configured_with(self._session)
        built = {} if options is None else {"features": configured(options)}
        return {**self._package_facts(), **query.facts(self._session), **built, **compiled}

    def settings(self) -> Mapping[str, str]:
        """All settings in force, by name."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the database under load; read from another database, so as not to be
        counted."""
        return query.counters(self._session, DATABASE)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Size of the database under load."""
        return query.size_bytes(self._session, DATABASE)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the database under load."""
        return contents(self._inside(), table, checksum=checksum)

    def tables(self) -> Mapping[str, str]:
        """Tables of the database under load, with their schema if it isn't `public`."""
        return tables(self._inside())

    def ask(self) -> SampledSession | None:
        """In another database than the one under load."""
        return query.PostgresqlSession(
            host=str(self._sockets), port=self._port, user=ROLE, dbname="postgres"
        )

    def table_files(self, table: str) -> Sequence[Path]:
        """Files of the table, its indexes and its TOAST table; without free space maps."""
        session = self._inside()
        try:
            return [self._data / row["path"] for row in session.rows(_FILES, table)]
        finally:
            session.close()

    def inside(self) -> Session:
        """Opens a session as its role."""
        return self._inside()

    def _inside(self) -> query.PostgresqlSession:
        """A session in the database under load, for one use."""
        return query.PostgresqlSession(
            host=str(self._sockets), port=self._port, user=ROLE, dbname=DATABASE
        )


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
