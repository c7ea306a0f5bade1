"""Logs the lab in at a MySQL or MariaDB server, by the same rules as the engine.

PyMySQL sends a password in clear to any server that asks for it, and encrypts it for any key that
the peer sends. MySQL's own client does neither over a connection that is not private, unless it is
told to (`--get-server-public-key`): whoever answers at that address could read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import CR
from pymysql.cursors import DictCursor

_IN_CLEAR = (b"mysql_clear_password", b"dialog", b"mysql_old_password")
"""Methods that give the password away, or a digest as good as that."""

EXPOSED = CR.CR_AUTH_PLUGIN_ERR
"""Number of our own error about it."""

ALLOW = (
    "use TLS (`ssl-mode=required` in the URL), or let any key of the server's be trusted with it "
    "(`get-server-public-key=true`)"
)


# Only its stubs have a type parameter.
if TYPE_CHECKING:
    _Base = pymysql.Connection[DictCursor]
else:
    _Base = pymysql.Connection


class Connection(_Base):
    """Keeps the password unless the connection is private: within TLS, or over a Unix socket."""

    def __init__(self, *, asks_for_public_key: bool, **parameters: Any) -> None:
        self._asks = asks_for_public_key
        self._key: bytes | None = None
        super().__init__(**parameters)

    def is_private(self) -> None:
        """Says that nobody can listen, though there is no TLS."""
        self._secure = True

    @property
    def server_public_key(self) -> bytes | None:
        """Asked for before the password is encrypted for it."""
        if not self._asks:
            self._keep_password("the password")
        return self._key

    @server_public_key.setter
    def server_public_key(self, key: bytes | None) -> None:
        self._key = key

    def _process_auth(self, plugin_name: bytes, *answer: Any, **more: Any) -> Any:
        """PyMySQL's, after a look at what the server asks for."""
        if plugin_name in _IN_CLEAR:
            self._keep_password(f"the password in clear ({plugin_name.decode()})")
        return super()._process_auth(plugin_name, *answer, **more)  # type: ignore[misc]

    def _keep_password(self, what: str) -> None:
        if self.password and not getattr(self, "_secure", False):
            raise pymysql.OperationalError(
                EXPOSED, f"it asks for {what} over a connection that is not encrypted"
            )
