"""A PostgreSQL server of one run: its own data folder, socket and port, gone when the run is."""

import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers.cache import sha256_of
from dbdyno.servers.daemon import Daemon, free_port
from dbdyno.servers.packaged import Programs, install
from dbdyno.servers.place import data_folder, socket_folder
from dbdyno.servers.postgresql import query
from dbdyno.servers.protocol import DATABASE, ROLE, Capacity, Provision, Transport

_INIT_LIMIT_S = 120.0
_READY_LIMIT_S = 60.0
_POLL_S = 0.02
_PORT_ATTEMPTS = 3
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
"""Settings by which we reach and watch the server."""


class PostgresqlServer:
    """Started as the account for servers, as a child of a guard.

    The role `dbdyno` owns the database `sbtest`. On the Unix socket, which only its owner and root
    reach, it is trusted; on loopback it has a password made for this run.
    """

    def __init__(self, provision: Provision, settings: Mapping[str, str], folder: Path) -> None:
        if reserved := sorted(_RESERVED.intersection(settings)):
            raise ServerError(
                f"`{reserved[0]}` is set by dbdyno itself and can't be a setting of a study",
                hint="leave it out",
            )
        self._provision = provision
        self._asked = settings
        self._password = secrets.token_urlsafe(24)
        self._daemon = Daemon(f"postgresql {provision.version}", folder.absolute() / "server.log")
        self._port = 0
        self._programs: Programs | None = None
        self._data = self._sockets = Path()
        self._session = query.Session()

    def start(self) -> None:
        """Installs, initialises, configures, starts and waits until it takes statements."""
        daemon = self._daemon
        daemon.prepare()
        self._programs = install(self._provision, daemon.account)
        self._sockets = socket_folder(daemon.guarded, daemon.account)
        self._data = data_folder(daemon.guarded, daemon.log.parent, daemon.account) / "data"
        self._initialise()
        for attempt in range(_PORT_ATTEMPTS):
            self._configure()
            log_start = daemon.log_size()
            self._launch()
            if self._wait_until_ready():
                break
            if not self._port_was_taken(log_start) or attempt == _PORT_ATTEMPTS - 1:
                raise self._not_started()
        self._session.rows(f"CREATE DATABASE {DATABASE}")
        if "pg_stat_statements" in query.settings(self._session)["shared_preload_libraries"]:
            self._session.rows("CREATE EXTENSION pg_stat_statements")

    def _program(self, name: str) -> Path:
        assert self._programs is not None, "start() installs first"
        return self._programs.folder / name

    def _environment(self) -> Mapping[str, str]:
        """Ours without what PostgreSQL would take for itself, and in the C locale."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**kept, "LC_ALL": "C", "TZ": "UTC"}

    def _initialise(self) -> None:
        password_file = self._sockets / "password"
        password_file.write_text(self._password + "\n")
        self._daemon.give(password_file, mode=0o600)
        scram = int(str(self._provision.version).split(".")[0]) >= 10
        try:
            self._daemon.run_helper(
                [
                    self._program("initdb"),
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
                ],
                cwd=self._sockets,
                env=self._environment(),
                limit_s=_INIT_LIMIT_S,
            )
        finally:
            password_file.unlink()

    def _configure(self) -> None:
        """Writes ours first and the study's after: the last line counts."""
        self._port = free_port()
        ours = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": str(self._sockets),
            "logging_collector": "off",
        }
        major = int(str(self._provision.version).split(".")[0])
        if major >= 10:
            ours["password_encryption"] = "scram-sha-256"
        if self._has_statement_statistics():
            ours["shared_preload_libraries"] = "pg_stat_statements"
        lines = [f"{name} = {_quoted(value)}\n" for name, value in {**ours, **self._asked}.items()]
        (self._data / "dbdyno.conf").write_text("".join(lines))
        self._daemon.give(self._data / "dbdyno.conf")
        main = self._data / "postgresql.conf"
        include = "include = 'dbdyno.conf'\n"
        if include not in main.read_text():
            with main.open("a") as file:
                file.write(include)

    def _has_statement_statistics(self) -> bool:
        """Whether the package carries the extension; wherever its share folder is."""
        pattern = "**/extension/pg_stat_statements.control"
        root = self._program("..").resolve()
        if any((root / "share").glob(pattern)):
            return True
        return (
            Path("/usr/share/postgresql") / root.name / "extension" / "pg_stat_statements.control"
        ).exists()

    def _launch(self) -> None:
        self._daemon.launch(
            [self._program("postgres"), "-D", self._data],
            cwd=self._data,
            env=self._environment(),
            stop_signal=signal.SIGINT,
            death_signal=signal.SIGQUIT,
        )
        self._session = query.Session(
            host=str(self._sockets), port=self._port, user=ROLE, dbname="postgres"
        )

    def _wait_until_ready(self) -> bool:
        """Connects as soon as that works; `False` when the server ended instead."""
        deadline = time.monotonic() + _READY_LIMIT_S
        while True:
            try:
                self._session.connection()
                return True
            except ConnectError as error:
                if self._daemon.ended_within(_POLL_S):
                    return False
                if time.monotonic() > deadline:
                    raise ServerError(
                        f"{self._daemon.name} was not ready after {_READY_LIMIT_S:.0f} s: "
                        f"{error.message}",
                        hint=self._daemon.log_tail(),
                    ) from error

    def _port_was_taken(self, log_start: int) -> bool:
        return "Address already in use" in self._daemon.logged_since(log_start)

    def _not_started(self) -> ServerError:
        log = self._daemon.logged_since(0)
        if unknown := re.search(r'unrecognized configuration parameter "([^"]+)"', log):
            close = get_close_matches(unknown[1], self._setting_names(), n=1)
            return ServerError(
                f"{self._daemon.name} has no setting `{unknown[1]}`",
                hint=f"did you mean `{close[0]}`?" if close else "look at the server's manual",
            )
        complaints = re.findall(
            r"(?:FATAL|LOG|ERROR):  (.*(?:invalid value|requires|outside).*)", log
        )
        reason = complaints[-1] if complaints else self._daemon.exit_description()
        return ServerError(
            f"{self._daemon.name} did not start: {reason}", hint=self._daemon.log_tail()
        )

    def _setting_names(self) -> Sequence[str]:
        described = subprocess.run(
            [self._program("postgres"), "--describe-config"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [line.split("\t")[0] for line in described.stdout.splitlines()]

    def target(self, transport: Transport = "unix") -> Mapping[str, object]:
        """The Unix socket, or loopback with the password of this run."""
        target: dict[str, object] = {"driver": "postgresql", "user": ROLE, "database": DATABASE}
        if transport == "unix":
            endpoint: object = {"unix": f"{self._sockets}/.s.PGSQL.{self._port}"}
        else:
            endpoint = {"tcp": {"host": "127.0.0.1", "port": self._port}}
            target["password"] = self._password
        return {**target, "endpoints": [endpoint]}

    def facts(self) -> Mapping[str, object]:
        """Of the package, the program and the running server."""
        assert self._programs is not None, "started"
        return {
            "kind": "postgresql",
            **self._programs.facts,
            "program_sha256": sha256_of(self._program("postgres")),
            **query.facts(self._session),
        }

    def settings(self) -> Mapping[str, str]:
        """All of them."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Of the database under load; the lab asks from another one, so as not to be counted."""
        return query.counters(self._session, DATABASE)

    def capacity(self) -> Capacity:
        """By its settings and the connections there are."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Of the database under load."""
        return query.size_bytes(self._session, DATABASE)

    def alive(self) -> bool:
        """Whether the postmaster runs."""
        return self._daemon.alive()

    def check(self) -> None:
        """Raises when the postmaster has ended without being asked to."""
        self._daemon.check()

    def data_folder(self) -> Path | None:
        """Its own; gone with it."""
        return self._data

    def log_files(self) -> Sequence[Path]:
        """What initdb and the server wrote."""
        return (self._daemon.log,)

    def stop(self) -> None:
        """Fast shutdown: sessions are cut, a checkpoint is written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the postmaster."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        self._session.close()
        self._daemon.end(number)

    def close(self) -> None:
        """Stops it and removes data and socket."""
        try:
            self.stop()
        finally:
            self._daemon.guarded.close()


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
