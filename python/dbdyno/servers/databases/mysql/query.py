"""Queries of the lab to MySQL or MariaDB servers, from version 5.6, over its own session."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any

import pymysql
from pymysql.cursors import DictCursor

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.model import only_row
from dbdyno.servers.databases.mysql import features, login
from dbdyno.servers.databases.mysql.login import Connection
from dbdyno.servers.nodes import peer
from dbdyno.servers.nodes.login import within
from dbdyno.servers.nodes.serving import thread_here
from dbdyno.servers.protocol import Capacity

_PROGRAMS = ("mysqld", "mariadbd")
_THREAD_OF_MARIADB = """
    SELECT TID AS thread FROM information_schema.PROCESSLIST
    WHERE ID = CONNECTION_ID() AND @@thread_handling = 'one-thread-per-connection'"""
_THREAD_OF_MYSQL = """
    SELECT THREAD_OS_ID AS thread FROM performance_schema.threads
    WHERE PROCESSLIST_ID = CONNECTION_ID() AND @@thread_handling = 'one-thread-per-connection'"""
_CONNECT_LIMIT_S = 10
_ANSWER_LIMIT_S = 30
_OF_THIS_RUN = frozenset(
    {
        "basedir",
        "bind_address",
        "datadir",
        "group_replication_group_name",
        "group_replication_group_seeds",
        "group_replication_local_address",
        "init_file",
        "lc_messages_dir",
        "pid_file",
        "port",
        "report_port",
        "socket",
        "tmpdir",
        "wsrep_cluster_address",
        "wsrep_provider_options",
        "wsrep_sst_receive_address",
    }
)
"""Settings that contain paths or ports of a run: always different, never significant."""
_CHANGED_IN_MARIADB = """
    SELECT LOWER(VARIABLE_NAME) AS name, GLOBAL_VALUE AS value, DEFAULT_VALUE AS default_value,
           GLOBAL_VALUE_ORIGIN AS source FROM information_schema.SYSTEM_VARIABLES
    WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO')
      AND NOT GLOBAL_VALUE <=> DEFAULT_VALUE ORDER BY 1"""
_CHANGED_IN_MYSQL = """
    SELECT i.VARIABLE_NAME AS name, v.VARIABLE_VALUE AS value, '' AS default_value,
           i.VARIABLE_SOURCE AS source FROM performance_schema.variables_info i
    JOIN performance_schema.global_variables v USING (VARIABLE_NAME)
    WHERE i.VARIABLE_SOURCE <> 'COMPILED' ORDER BY 1"""
_NO_SUCH_TABLE = (1109, 1146)


@dataclass(frozen=True, slots=True)
class Address:
    """Where and as whom the lab connects."""

    user: str
    password: str = field(default="", repr=False)
    database: str | None = None
    unix: Path | None = None
    host: str = "127.0.0.1"
    port: int = 3306
    tls: SSLContext | None = None
    prefers_tls: bool = False
    """Encrypted if the server offers it, whoever it is."""
    asks_for_public_key: bool = False
    """Without TLS, the password is encrypted for any key that is sent."""

    def __str__(self) -> str:
        return str(self.unix) if self.unix else f"{self.host}:{self.port}"

    def open_socket(self) -> socket.socket:
        """A connected socket; `OSError` when nobody listens."""
        if self.unix is None:
            return socket.create_connection((self.host, self.port), _CONNECT_LIMIT_S)
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(_CONNECT_LIMIT_S)
        try:
            connected.connect(str(self.unix))
        except OSError:
            connected.close()
            raise
        return connected


class Session:
    """The lab's own connection, opened when first needed and again if lost."""

    def __init__(
        self,
        title: str,
        address: Address,
        *,
        answer_limit_s: int | None = _ANSWER_LIMIT_S,
        greeting_limit_s: float = _ANSWER_LIMIT_S,
    ) -> None:
        self._title = title
        self.address = address
        self._answer_limit_s = answer_limit_s
        self._greeting_limit_s = greeting_limit_s
        self._connection: pymysql.Connection[DictCursor] | None = None
        self._watch: socket.socket | None = None
        self._thread: int | None = None

    def connection(self) -> pymysql.Connection[DictCursor]:
        """The open connection.

        # Errors
        `ConnectError` with the server's or the system's message.
        """
        if self._connection is None or not self._connection.open:
            self.close()
            try:
                plain = self.address.open_socket()
                self._watch = plain.dup()
                self._check_greeting(plain)
                limit_s = self._greeting_limit_s
                self._connection = within(limit_s, lambda: self._log_in(plain))
                self._thread = None
            except TimeoutError as error:
                self.close()
                raise ConnectError(
                    f"can't connect to {self._title} at {self.address}: {_in_words(error)}",
                    hint="is it the right port? A server may also be looking up its clients' names "
                    "(skip_name_resolve), be stopped, or be overloaded",
                ) from error
            except ConnectError:
                plain.close()
                self.close()
                raise
            except (pymysql.Error, OSError, RuntimeError) as error:
                self.close()
                raise ConnectError(
                    f"can't connect to {self._title} at {self.address}: {_in_words(error)}",
                    hint=_advice(error),
                ) from error
        return self._connection

    def _check_greeting(self, plain: socket.socket) -> None:
        found = peer.greeting_of(plain, self._greeting_limit_s, self.address.open_socket)
        if found not in (None, peer.MYSQL):
            plain.close()
            self.close()
            other = found == peer.POSTGRESQL
            raise ConnectError(
                f"{self.address} is {found}, not {peer.MYSQL}",
                hint="name it by a `postgresql://` URL" if other else "is it the right port?",
            )

    def _log_in(self, plain: socket.socket) -> pymysql.Connection[DictCursor]:
        address = self.address
        tls = {"ssl": address.tls} if address.tls else {"ssl_disabled": not address.prefers_tls}
        connection = Connection(
            asks_for_public_key=address.asks_for_public_key,
            user=address.user,
            password=address.password,
            database=address.database,
            host=address.host,
            port=address.port,
            charset="utf8mb4",
            autocommit=True,
            cursorclass=DictCursor,
            read_timeout=self._greeting_limit_s,
            write_timeout=_ANSWER_LIMIT_S,
            program_name="dbdyno",
            defer_connect=True,
            **tls,
        )
        if address.unix is not None:
            connection.is_private()
        try:
            connection.connect(plain)
        except pymysql.OperationalError as error:
            if isinstance(error.__context__, TimeoutError):
                raise TimeoutError(
                    f"it greeted and did not let us in within {self._greeting_limit_s:g} s"
                ) from error
            raise
        # It has only one limit for reading, and a statement may take longer than a greeting.
        connection._read_timeout = self._answer_limit_s  # type: ignore[attr-defined]
        return connection

    def rows(self, statement: str, *parameters: object) -> Sequence[Mapping[str, Any]]:
        """Rows of one statement.

        # Errors
        `ServerError` when the server refuses it or is gone.
        """
        connection = self.connection()
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, parameters or None)
                return cursor.fetchall()
        except (pymysql.Error, OSError) as error:
            kind = ServerError if connection.open else LostError
            if not connection.open:
                self.close()
            raise kind(
                f"{self._title} refused `{statement.strip()}`: {_in_words(error)}"
            ) from error

    def row(self, statement: str, *parameters: object) -> Mapping[str, Any]:
        """The only row of one statement; raises `ServerError` where there is another number."""
        return only_row(self.rows(statement, *parameters), statement)

    def serving_thread(self) -> int | None:
        """The thread of the connection, where the server has one for each and tells its number:
        MySQL 5.7 and later with its performance schema, MariaDB."""
        connection = self.connection()
        if self._thread is None:
            self._thread = self._asked_thread(connection)
        watch = self._watch
        return thread_here(self._thread, watch.fileno(), _PROGRAMS) if watch else None

    def _asked_thread(self, connection: pymysql.Connection[DictCursor]) -> int:
        """The operating system's number of it; 0 where the server can't tell."""
        greeting = connection.get_server_info()  # type: ignore[no-untyped-call]
        try:
            rows = self.rows(_THREAD_OF_MARIADB if "MariaDB" in greeting else _THREAD_OF_MYSQL)
        except LostError:
            raise
        except ServerError:
            return 0
        return int(rows[0]["thread"] or 0) if rows else 0

    def close(self) -> None:
        """Closes the connection; the next statement opens another."""
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
            self._connection = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None


def facts(session: Session, database: str) -> Mapping[str, object]:
    """Version, build, page size, character set, durability, TLS, which storage engines have the
    database's tables, and the libraries of a MariaDB."""
    effective = settings(session)
    version = effective["version"].partition("-")[0]
    return {
        "version": version,
        "version_number": version_number(version),
        "build": f"{effective['version']} {effective['version_comment']}",
        "compiled_for": f"{effective['version_compile_machine']} {effective['version_compile_os']}",
        "page_size_bytes": int(effective["innodb_page_size"]),
        "encoding": effective["character_set_server"],
        "storage_engine": effective.get("default_storage_engine"),
        "data_engines": data_engines(session, database),
        **features.libraries(effective),
        "durability": durability(effective),
    }


def version_number(version: str) -> int:
    """10.11.5 as 101105, as the server's own macros write it."""
    major, minor, patch = [*map(int, version.split(".")), 0, 0][:3]
    return major * 10_000 + minor * 100 + patch


def settings(session: Session) -> Mapping[str, str]:
    """Every global setting."""
    rows = session.rows("SHOW GLOBAL VARIABLES")
    return {row["Variable_name"]: str(row["Value"]) for row in rows}


def durability(effective: Mapping[str, str]) -> str:
    """The class printed beside every number: D0 may lose or tear data in a crash, D1 may lose the
    last commits, D2 has every commit on this node's disk, D3 on another node too."""
    if effective.get("innodb_doublewrite") in ("OFF", "0"):
        return "D0"
    if effective.get("innodb_flush_method") == "nosync":
        return "D0"
    if effective.get("innodb_flush_log_at_trx_commit") not in ("1", "3"):
        return "D1"
    if effective.get("log_bin") == "ON" and effective.get("sync_binlog") == "0":
        return "D1"
    semi_sync = ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled")
    return "D3" if any(effective.get(name) == "ON" for name in semi_sync) else "D2"


def settings_changed(session: Session) -> Mapping[str, Mapping[str, str]] | None:
    """Settings that are not the server's default, where it can tell; `None` before MySQL 8.0."""
    for statement in (_CHANGED_IN_MARIADB, _CHANGED_IN_MYSQL):
        try:
            rows = session.rows(statement)
            break
        except ServerError as error:
            if not _about_missing_table(error):
                raise
    else:
        return None
    return {
        row["name"]: {key: str(row[key]) for key in ("value", "default_value", "source")}
        for row in rows
        if row["name"] not in _OF_THIS_RUN
    }


def _about_missing_table(error: ServerError) -> bool:
    cause = error.__cause__
    return isinstance(cause, pymysql.Error) and cause.args[0] in _NO_SUCH_TABLE


def counters(session: Session) -> Mapping[str, int]:
    """Counters of the whole server (`Questions`, `Com_commit`, `Innodb_rows_read`, …).

    Between two calls the lab sends exactly one statement of its own: this one.
    """
    counts = {}
    for row in session.rows("SHOW GLOBAL STATUS"):
        if str(row["Value"]).isdecimal():
            counts[row["Variable_name"]] = int(row["Value"])
    return counts


def capacity(session: Session) -> Capacity:
    """Free connections and prepared statements. Unknown behind a proxy, whose port is not the
    server's."""
    effective, counts = settings(session), counters(session)
    address = session.address
    if address.unix is None and effective["port"] != str(address.port):
        return Capacity()
    most, used = int(effective["max_connections"]), counts["Threads_connected"]
    statements = int(effective["max_prepared_stmt_count"]) - counts.get("Prepared_stmt_count", 0)
    return Capacity(
        connections=most - used,
        basis=f"max_connections {most}, {used} in use",
        cure="raise the server's max_connections (a setting of the study: "
        "`max_connections = 1000`)",
        statements=statements,
        accept_queue=int(effective["back_log"]),
    )


def size_bytes(session: Session, database: str) -> int:
    """Size of a database's tables and indexes, according to the storage engines."""
    row = session.row(
        "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS size"
        " FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
        database,
    )
    return int(row["size"])


def data_engines(session: Session, database: str) -> list[str]:
    """Storage engines of a database's tables, as the server writes them: `InnoDB`, `ROCKSDB`."""
    rows = session.rows(
        "SELECT DISTINCT ENGINE AS engine FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' AND ENGINE IS NOT NULL"
        " ORDER BY ENGINE",
        database,
    )
    return [row["engine"] for row in rows]


def tables(session: Session, database: str) -> Mapping[str, str]:
    """Tables of a database, named as in statements."""
    rows = session.rows(
        "SELECT TABLE_NAME AS name FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
        database,
    )
    return {row["name"]: f"{quoted(database)}.{quoted(row['name'])}" for row in rows}


def quoted(name: str) -> str:
    """A name quoted for statements."""
    return "`" + name.replace("`", "``") + "`"


def _advice(error: Exception) -> str:
    """A hint for a connection that failed."""
    if isinstance(error, OSError):
        return "is the server running, and is this its address?"
    match error.args[0] if error.args else None:
        case login.EXPOSED:
            return login.ALLOW
        case 1044 | 1045 | 1698:
            return "check the user and the password"
        case 1049:
            return "create the database first, or name another one"
        case 1040 | 1203 | 1226:
            return "the server's limit of connections is reached: raise it (max_connections)"
        case 1129:
            return "the server has blocked this host: `mysqladmin flush-hosts`"
    return "check address, user, password and database with `mysql`"


def _in_words(error: Exception) -> str:
    """The error message without PyMySQL's tuple around it."""
    words = error.args[-1] if error.args else error
    number = f"error {error.args[0]}: " if len(error.args) == 2 else ""
    return number + " ".join(str(words).split())
