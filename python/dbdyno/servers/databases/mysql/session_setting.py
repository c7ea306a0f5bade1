"""Whether a session of MySQL or MariaDB can have a setting of its own."""

from __future__ import annotations

from dbdyno.errors import ServerError
from dbdyno.servers.databases.mysql.session import MysqlSession

_UNKNOWN, _READ_ONLY, _GLOBAL = 1193, 1238, 1229


def try_setting(session: MysqlSession, name: str, value: str) -> None:
    """Sets it in `session`, as the engine's sessions do.

    # Errors
    `ServerError` for what the server does not know, sets at its start or for all sessions, or
    refuses.
    """
    try:
        session.rows(f"SET SESSION {name} = {literal(value)}")
    except ServerError as error:
        number = getattr(error.__cause__, "args", (None,))[0]
        if number == _READ_ONLY:
            raise ServerError(
                f"`{name}` is no setting of a session: it is read-only, or set when the server "
                "starts",
                hint="start a second server with it, and name it by --against URL",
            ) from error
        if number == _GLOBAL:
            raise ServerError(
                f"`{name}` is one of the whole server: the other side would have it too",
                hint="start a second server with it, and name it by --against URL",
            ) from error
        if number == _UNKNOWN:
            raise ServerError(
                f"the server has no setting `{name}`",
                hint="`SHOW SESSION VARIABLES` lists a session's",
            ) from error
        raise


def literal(value: str) -> str:
    """A number as it is, all else quoted."""
    try:
        float(value)
    except ValueError:
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        return f"'{quoted}'"
    return value
