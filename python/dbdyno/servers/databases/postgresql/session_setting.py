"""Whether a session of PostgreSQL can have a setting of its own."""

from __future__ import annotations

from dbdyno.errors import ServerError
from dbdyno.servers.databases.postgresql.query import PostgresqlSession
from dbdyno.servers.setting import unknown_setting

_OF_LOG_IN = ("backend", "superuser-backend")
"""Contexts of settings that a client sends with its log-in and can't change afterwards."""
_WHEN = {
    "postmaster": "is set when the server starts",
    "sighup": "is one of the whole server: the other side would have it too",
    "internal": "can't be set at all",
}


def try_setting(session: PostgresqlSession, name: str, value: str) -> None:
    """Sets it in `session`; the engine's sessions send it with their log-in.

    # Errors
    `ServerError` for what the server does not know, sets at its start or for all sessions, or
    refuses.
    """
    rows = session.rows("SELECT context FROM pg_settings WHERE name = lower(%s)", name)
    context = rows[0]["context"] if rows else None
    if context is None and "." not in name:
        known = [row["name"] for row in session.rows("SELECT name FROM pg_settings")]
        raise unknown_setting("the server", name, known, "`SHOW ALL` lists a session's")
    if context in _WHEN:
        raise ServerError(
            f"`{name}` {_WHEN[context]}",
            hint="start a second server with it, and name it by --against URL",
        )
    if context not in _OF_LOG_IN:
        session.rows("SELECT set_config(%s, %s, false)", name, value)
