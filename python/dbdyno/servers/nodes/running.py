"""An existing server reached by its URL: the parts common to all kinds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from dbdyno.errors import ConnectError, ServerError
from dbdyno.model.session import Session
from dbdyno.model.study import BY_URL
from dbdyno.servers.nodes.foreign import ForeignNode
from dbdyno.servers.nodes.login import try_apart
from dbdyno.servers.protocol import ServerSpec
from dbdyno.servers.setting import refuse_all

ANSWER_LIMIT_S = 5
"""How long a server may take to answer the lab on a fresh connection."""


class LoginSession(Session, Protocol):
    """The lab's own session; it closes itself when it finds that it is broken, and the next
    statement opens another."""

    def connection(self) -> object:
        """The open connection, made if need be."""


class RunningServer(ForeignNode):
    """Looked at and loaded, never stopped or altered."""

    _PROBE: ClassVar[str] = "SELECT 1"
    """A statement that every server of the kind answers."""
    _session: LoginSession

    def __init__(self, url: str, spec: ServerSpec, example: str) -> None:
        super().__init__(example)
        refuse_all(spec.settings, example)
        self._wanted = spec.session
        self._provision = f"{BY_URL}{url}"

    def start(self) -> None:
        """Connects, to check that it exists and lets us in: first in a process that can be killed,
        whatever the server makes of the log-in."""
        try_apart(self._provision, ANSWER_LIMIT_S * self._addresses())
        self.log_in()
        if self._wanted:
            self._try_settings()

    def _try_settings(self) -> None:
        """Raises `ServerError` for a setting that a session can't have."""
        raise ServerError(
            f"its sessions have no settings of their own: {', '.join(self._wanted)}",
            hint="leave out --with, or compare with another server (--against URL)",
        )

    def _with_settings(self, target: Mapping[str, object]) -> Mapping[str, object]:
        """A run spec's target, with the settings of its sessions."""
        asked = [list(pair) for pair in self._wanted.items()]
        return {**target, "session": asked} if asked else target

    def log_in(self) -> None:
        """Connects in this process."""
        self._session.connection()

    def _addresses(self) -> int:
        """How many of them may be tried."""
        return 1

    def check(self) -> None:
        """Raises when it does not answer.

        A connection lost since the last statement is made anew once before giving up.
        """
        try:
            self._session.rows(self._PROBE)
        except ConnectError:
            raise
        except ServerError:
            self._session.close()
            self._session.rows(self._PROBE)

    def tables(self) -> Mapping[str, str]:
        """None: they aren't ours."""
        return {}

    def stop(self) -> None:
        """Disconnects; the server keeps running."""
        self._session.close()

    def inside(self) -> Session:
        """Raises: such sessions are for servers of ours."""
        raise self._not_ours("to work in")

    def table_files(self, table: str) -> Sequence[Path]:
        """None that we can read."""
        return ()

    def close(self) -> None:
        """Disconnects; the server goes on."""
        self.stop()
