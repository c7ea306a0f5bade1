"""Sessions like those of a run's clients: through its proxies, but with a time limit.

All other sessions of this package connect to the server itself, and wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dbdyno.errors import ServerError


class ClientSession(Protocol):
    """Connected when it is made."""

    def rows(self, statement: str, /) -> Sequence[tuple[Any, ...]]:
        """The result of a statement; raises `ClientError`."""

    def port(self) -> int:
        """The port of the server itself, behind any proxy; raises `ClientError`."""

    def close(self) -> None:
        """Ends it, whatever its state."""


class ClientError(ServerError):
    """A statement or connection that failed, with its class."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """SQLSTATE or vendor number; `connection` if there is none."""


def client_session(target: Mapping[str, Any], limit_s: float) -> ClientSession:
    """Connects as a run's target says. An attempt that takes over `limit_s` fails, where the
    database's library can limit it: PostgreSQL's only limits the connecting, in whole seconds.

    # Errors
    `ClientError` if it can't connect, `ServerError` for any other database.
    """
    match target["driver"]:
        case "mysql":
            return _Mysql(target, limit_s)
        case "postgresql":
            return _Postgresql(target, limit_s)
        case other:
            raise ServerError(
                f"there are no probes for `{other}`", hint="faults take PostgreSQL and MySQL"
            )


class _Mysql:
    def __init__(self, target: Mapping[str, Any], limit_s: float) -> None:
        import pymysql

        self._errors = (pymysql.Error, OSError)
        endpoint = target["endpoints"][0]
        place = {"unix_socket": endpoint["unix"]} if "unix" in endpoint else endpoint["tcp"]
        try:
            self._connection = pymysql.connect(
                **place,
                user=target["user"],
                password=target.get("password", ""),
                database=target["database"],
                autocommit=True,
                connect_timeout=max(1, round(limit_s)),
                read_timeout=limit_s,
                write_timeout=limit_s,
            )
        except self._errors as error:
            raise _failed(error) from error

    def rows(self, statement: str) -> Sequence[tuple[Any, ...]]:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return [tuple(row) for row in cursor.fetchall()]
        except self._errors as error:
            raise _failed(error) from error

    def port(self) -> int:
        return int(self.rows("SELECT @@port")[0][0])

    def close(self) -> None:
        self._connection._force_close()  # type: ignore[attr-defined]


class _Postgresql:
    def __init__(self, target: Mapping[str, Any], limit_s: float) -> None:
        import psycopg

        self._errors = psycopg.Error
        endpoint = target["endpoints"][0]
        if "unix" in endpoint:
            socket = Path(endpoint["unix"])
            host, port = str(socket.parent), socket.name.rpartition(".")[2]
        else:
            host, port = endpoint["tcp"]["host"], str(endpoint["tcp"]["port"])
        try:
            self._connection = psycopg.connect(
                host=host,
                port=port,
                user=target["user"],
                password=target.get("password"),
                dbname=target["database"],
                autocommit=True,
                connect_timeout=max(2, round(limit_s)),
                prepare_threshold=None,
            )
        except self._errors as error:
            raise _failed(error) from error

    def rows(self, statement: str) -> Sequence[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except self._errors as error:
            raise _failed(error) from error

    def port(self) -> int:
        return int(self.rows("SHOW port")[0][0])

    def close(self) -> None:
        self._connection.close()


def _failed(error: Exception) -> ClientError:
    code = getattr(error, "sqlstate", None) or (error.args[0] if error.args else None)
    known = code if isinstance(code, int | str) and len(str(code)) <= 5 else "connection"
    return ClientError(str(known), str(error).strip())
