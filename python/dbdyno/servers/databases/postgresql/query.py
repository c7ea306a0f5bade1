"""Queries that the lab sends to PostgreSQL servers, from version 9.6, over its own session."""

import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.model import only_row
from dbdyno.servers.nodes import peer
from dbdyno.servers.nodes.login import within
from dbdyno.servers.nodes.serving import thread_here
from dbdyno.servers.protocol import Capacity

_PROGRAMS = ("postgres", "postmaster")
_CONNECT_LIMIT_S = 10
_ASK_LIMIT_S = 1
_STATEMENT_LIMIT_MS = 30_000
_OF_THIS_RUN = frozenset(
    {
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "port",
        "primary_conninfo",
        "unix_socket_directories",
    }
)
"""Settings that contain paths or ports of a run: always different, never significant."""
_CHECKPOINTS_BEFORE_17 = """
    SELECT checkpoints_timed, checkpoints_req AS checkpoints_requested,
           buffers_checkpoint AS checkpoint_buffers FROM pg_stat_bgwriter"""
_CHECKPOINTS = """
    SELECT num_timed AS checkpoints_timed, num_requested AS checkpoints_requested,
           buffers_written AS checkpoint_buffers FROM pg_stat_checkpointer"""


class PostgresqlSession:
    """The lab's own connection, opened when first needed and again if lost."""

    def __init__(self, conninfo: str = "", **parameters: str | int) -> None:
        self._conninfo = conninfo
        self._parameters = parameters
        self._connection: psycopg.Connection[DictRow] | None = None

    def connection(self) -> psycopg.Connection[DictRow]:
        """The open connection.

        # Errors
        `ConnectError` with the server's or the system's message.
        """
        if self._connection is None or self._connection.closed:
            parameters: dict[str, Any] = {
                "application_name": "dbdyno",
                "connect_timeout": _CONNECT_LIMIT_S,
                **self._parameters,
            }
            try:
                self._connection = within(
                    parameters["connect_timeout"] * self.addresses(),
                    lambda: self._connected(parameters),
                )
            except psycopg.Error as error:
                raise self._explain(error, parameters) from error
        return self._connection

    def _connected(self, parameters: Mapping[str, Any]) -> psycopg.Connection[DictRow]:
        connection = psycopg.Connection.connect(
            self._conninfo,
            autocommit=True,
            row_factory=dict_row,
            prepare_threshold=None,
            **parameters,
        )
        connection.execute(f"SET statement_timeout = {_STATEMENT_LIMIT_MS}")
        return connection

    def addresses(self) -> int:
        """How many the URL names: each may be tried, with a limit of its own."""
        named = conninfo_to_dict(self._conninfo, **self._parameters)
        return len(str(named.get("host") or "").split(","))

    def _explain(self, error: psycopg.Error, parameters: Mapping[str, Any]) -> ConnectError:
        """The error for a server that does not let us in, or is of another kind."""
        words = _one_line(error)
        where = _first_address(self._conninfo, parameters)
        if "FATAL" not in words and where is not None:
            found = peer.ask(where.open_socket)
            if found not in (None, peer.POSTGRESQL):
                other = found == peer.MYSQL
                return ConnectError(
                    f"{where} is {found}, not {peer.POSTGRESQL}",
                    hint="name it by a `mysql://` URL" if other else "is it the right port?",
                )
        if isinstance(error, psycopg.errors.ConnectionTimeout) and where is not None:
            words = f"{where} did not answer within {parameters['connect_timeout']} s"
        return ConnectError(f"can't connect to PostgreSQL: {words}", hint=_advice(words))

    def rows(self, statement: str, *parameters: object) -> Sequence[DictRow]:
        """Rows of one statement.

        # Errors
        `ServerError` when the server refuses it or is gone.
        """
        connection = self.connection()
        try:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            kind = LostError if connection.broken else ServerError
            if connection.broken:
                self.close()
            raise kind(f"PostgreSQL refused `{statement.strip()}`: {_one_line(error)}") from error

    def row(self, statement: str, *parameters: object) -> DictRow:
        """The only row of one statement; raises `ServerError` where there is another number."""
        return only_row(self.rows(statement, *parameters), statement)

    def serving_thread(self) -> int | None:
        """The backend, where it runs on this machine."""
        connection = self.connection()
        return thread_here(connection.info.backend_pid, connection.fileno(), _PROGRAMS)

    def close(self) -> None:
        """Closes the connection; the next statement opens another."""
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


@dataclass(frozen=True, slots=True)
class _Address:
    """Where libpq connects first."""

    host: str
    port: int

    def __str__(self) -> str:
        return self._socket if self.host.startswith("/") else f"{self.host}:{self.port}"

    @property
    def _socket(self) -> str:
        return f"{self.host}/.s.PGSQL.{self.port}"

    def open_socket(self) -> socket.socket:
        if not self.host.startswith("/"):
            return socket.create_connection((self.host, self.port), _ASK_LIMIT_S)
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(_ASK_LIMIT_S)
        try:
            connected.connect(self._socket)
        except OSError:
            connected.close()
            raise
        return connected


def _first_address(conninfo: str, parameters: Mapping[str, Any]) -> _Address | None:
    """The first host of the connection's parameters; `None` if there is none."""
    named = conninfo_to_dict(conninfo, **parameters)
    host = str(named.get("host") or "").partition(",")[0]
    port = str(named.get("port") or 5432).partition(",")[0]
    return _Address(host, int(port)) if host and port.isdecimal() else None


def _advice(words: str) -> str:
    """A hint for a failed connection with this message."""
    for found, advice in (
        ("password authentication failed", "check the role and the password"),
        ("no password supplied", "put the password into the URL, or into PGPASSWORD"),
        ("does not exist", "create it first, or name another one"),
        ("too many clients", "raise the server's max_connections, or close other connections"),
        ("remaining connection slots", "raise the server's max_connections"),
        ("pg_hba.conf", "let this role in from this host: pg_hba.conf on the server says who may"),
        ("did not answer", "is it the right port? The server may also be stopped or overloaded"),
        ("refused", "is the server running, and is this its address?"),
        ("No such file", "is the server running, and is this its socket's folder?"),
    ):
        if found in words:
            return advice
    return "check address, role, password and database with `psql`"


def configured_with(session: PostgresqlSession) -> str | None:
    """The options of `configure` that it was built with; `None` before 9.6, or if this role may not
    read them."""
    try:
        rows = session.rows("SELECT setting FROM pg_config WHERE name = 'CONFIGURE'")
    except ServerError:
        return None
    return str(rows[0]["setting"]) if rows else None


def facts(session: PostgresqlSession) -> Mapping[str, object]:
    """Version, build, durability, and every setting that is not PostgreSQL's own default."""
    row = session.row(
        "SELECT version() AS build, current_setting('server_version') AS version,"
        " current_setting('server_version_num')::int AS version_number,"
        " current_setting('block_size')::int AS block_size_bytes,"
        " current_setting('data_checksums') AS data_checksums,"
        " current_setting('debug_assertions') AS debug_assertions,"
        " current_setting('server_encoding') AS encoding"
    )
    extensions = session.rows(
        "SELECT extversion FROM pg_extension WHERE extname = 'pg_stat_statements'"
    )
    return {
        **row,
        "version": row["version"].split()[0],
        "durability": durability(settings(session)),
        "pg_stat_statements": extensions[0]["extversion"] if extensions else None,
        "settings_changed": _settings_changed(session),
    }


def settings(session: PostgresqlSession) -> Mapping[str, str]:
    """Every setting this role may see, with its unit."""
    return {row["name"]: row["setting"] for row in session.rows("SHOW ALL")}


def durability(effective: Mapping[str, str]) -> str:
    """The class printed beside every number: D0 may lose or tear data in a crash, D1 may lose the
    last commits, D2 has every commit on this node's disk, D3 on another node too."""
    if effective.get("fsync") == "off" or effective.get("full_page_writes") == "off":
        return "D0"
    commit = effective.get("synchronous_commit")
    if commit == "off":
        return "D1"
    if effective.get("synchronous_standby_names") and commit != "local":
        return "D3"
    return "D2"


def _settings_changed(session: PostgresqlSession) -> Mapping[str, Mapping[str, str]]:
    rows = session.rows(
        "SELECT name, current_setting(name) AS value,"
        " coalesce(boot_val || coalesce(' × ' || unit, ''), '') AS default_value, source"
        " FROM pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session')"
        " AND setting IS DISTINCT FROM boot_val ORDER BY name"
    )
    return {
        row["name"]: {
            "value": row["value"],
            "default": row["default_value"],
            "source": row["source"],
        }
        for row in rows
        if row["name"] not in _OF_THIS_RUN
    }


def counters(session: PostgresqlSession, database: str) -> Mapping[str, int]:
    """Counters of one database, of its statements if `pg_stat_statements` is on, and of the
    server's log and checkpoints.

    A session reports its counters when it becomes idle or ends, up to a second late: read them
    after the clients have disconnected. Autovacuum's transactions are included.
    """
    version = session.connection().info.server_version
    database_row = session.row("SELECT * FROM pg_stat_database WHERE datname = %s", database)
    counts: dict[str, int] = {
        name: value
        for name, value in database_row.items()
        if isinstance(value, int) and name not in ("datid", "numbackends")
    }
    counts.update(session.row(_CHECKPOINTS if version >= 17_00_00 else _CHECKPOINTS_BEFORE_17))
    counts.update(_wal_bytes(session, version))
    counts.update(_statements(session, version, database))
    return counts


def _wal_bytes(session: PostgresqlSession, version: int) -> Mapping[str, int]:
    if session.row("SELECT pg_is_in_recovery() AS standby")["standby"]:
        return {}
    difference, position = (
        ("pg_wal_lsn_diff", "pg_current_wal_lsn")
        if version >= 10_00_00
        else ("pg_xlog_location_diff", "pg_current_xlog_location")
    )
    row = session.row(f"SELECT {difference}({position}(), '0/0')::bigint AS wal_bytes")
    return {"wal_bytes": row["wal_bytes"]}


def _statements(session: PostgresqlSession, version: int, database: str) -> Mapping[str, int]:
    """Sums of `pg_stat_statements`, in whatever schema it is; empty if it is not loaded."""
    schemas = session.rows(
        "SELECT quote_ident(nspname) AS name FROM pg_extension"
        " JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_stat_statements'"
    )
    loaded = "pg_stat_statements" in settings(session).get("shared_preload_libraries", "")
    if not schemas or not loaded:
        return {}
    schema = schemas[0]["name"]
    elapsed = "total_exec_time" if version >= 13_00_00 else "total_time"
    counts = dict(
        session.row(
            "SELECT coalesce(sum(calls), 0)::bigint AS statements_calls,"
            " coalesce(sum(rows), 0)::bigint AS statements_rows,"
            f" coalesce(sum({elapsed}) * 1000, 0)::bigint AS statements_us"
            f" FROM {schema}.pg_stat_statements"
            " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)",
            database,
        )
    )
    if version >= 14_00_00:
        info = session.row(f"SELECT dealloc FROM {schema}.pg_stat_statements_info")
        counts["statements_forgotten"] = info["dealloc"]
    return counts


def capacity(session: PostgresqlSession) -> Capacity:
    """Connections left for our role. Unknown behind a pooler, whose port is not the server's."""
    row = session.row(
        "SELECT current_setting('port')::int AS port,"
        " current_setting('max_connections')::int AS most,"
        " CASE WHEN rolsuper THEN 0 ELSE"
        " current_setting('superuser_reserved_connections')::int"
        " + coalesce(nullif(current_setting('reserved_connections', true), '')::int, 0) END"
        " AS reserved, (SELECT sum(numbackends)::int FROM pg_stat_database) AS used"
        " FROM pg_roles WHERE rolname = current_user"
    )
    if row["port"] != session.connection().info.port:
        return Capacity()
    return Capacity(
        connections=row["most"] - row["reserved"] - row["used"],
        basis=f"max_connections {row['most']}, {row['reserved']} reserved, {row['used']} in use",
        cure="raise the server's max_connections (a setting of the study: "
        '`max_connections = "1000"`), or put a pooler before it',
    )


def size_bytes(session: PostgresqlSession, database: str) -> int:
    """Tables and indexes of a database on disk, without the log."""
    size: int = session.row("SELECT pg_database_size(%s) AS size", database)["size"]
    return size


def _one_line(error: psycopg.Error) -> str:
    lines = map(str.strip, str(error).splitlines())
    return "; ".join(line for line in lines if line.strip("^")).removeprefix("connection failed: ")
