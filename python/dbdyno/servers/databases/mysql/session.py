"""The lab's own session with a MySQL or MariaDB server, from version 5.6."""

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
from dbdyno.servers.databases.mysql import login
from dbdyno.servers.databases.mysql.login import Connection
from dbdyno.servers.nodes import peer
from dbdyno.servers.nodes.login import within
from dbdyno.servers.nodes.serving import thread_here

_PROGRAMS = ("mysqld", "mariadbd")


_THREAD_OF_MARIADB = """
    SELECT TID AS thread FROM information_schema.PROCESSLIST
    WHERE ID = CONNECTION_ID() AND @@thread_handling = 'one-thread-per-connection'"""


_THREAD_OF_MYSQL = """
    SELECT THREAD_OS_ID AS thread FROM performance_schema.threads
    WHERE PROCESSLIST_ID = CONNECTION_ID() AND @@thread_handling = 'one-thread-per-connection'"""


_CONNECT_LIMIT_S = 10


_ANSWER_LIMIT_S = 30


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


class MysqlSession:
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
