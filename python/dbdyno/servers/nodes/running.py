"""An existing server reached by its URL: the parts common to all kinds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from dbdyno.errors import ConnectError, ServerError
from dbdyno.model.session import Session
from dbdyno.servers.nodes.direct import Direct
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


class RunningServer(Direct):
    """Looked at and loaded, never stopped or altered."""

    _PROBE: ClassVar[str] = "SELECT 1"
    """A statement that every server of the kind answers."""
    _session: LoginSession

    def __init__(self, url: str, spec: ServerSpec, example: str) -> None:
        refuse_all(spec.settings, example)
        self._wanted = spec.session
        self._provision = f"url:{url}"
        self._example = example
        """A provision text for a server of ours."""

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

    def alive(self) -> bool:
        """Always, as far as we know: how long a load waits for a server that has gone is decided
        by its `reconnect_for`, and the engine says when that is over."""
        return True

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

    def data_folder(self) -> Path | None:
        """`None`: unknown to us."""
        return None

    def tables(self) -> Mapping[str, str]:
        """None: they aren't ours."""
        return {}

    def processes(self) -> Sequence[int]:
        """None: its processes aren't ours, and may be on another machine."""
        return ()

    def log_files(self) -> Sequence[Path]:
        """None that we can read."""
        return ()

    def stop(self) -> None:
        """Disconnects; the server keeps running."""
        self._session.close()

    def kill(self) -> None:
        """Refused: the server is somebody else's."""
        raise ServerError(
            "a server reached by its URL is not ours to kill",
            hint=f"let dbdyno start one (`{self._example}`) to see it crash",
        )

    def drop(self) -> None:
        """Refused: the server is somebody else's."""
        self.kill()

    def restart(self, limit_s: float) -> None:
        """Refused: the server is somebody else's."""
        raise self._not_ours("to start")

    def inside(self) -> Session:
        """Raises: such sessions are for servers of ours."""
        raise self._not_ours("to work in")

    def table_files(self, table: str) -> Sequence[Path]:
        """None that we can read."""
        return ()

    def ended_with(self) -> int | None:
        """`None`: the process is somebody else's."""
        return None

    def _not_ours(self, what: str) -> ServerError:
        return ServerError(
            f"a server reached by its URL is not ours {what}",
            hint=f"let dbdyno start one (`{self._example}`)",
        )

    def close(self) -> None:
        """Disconnects; the server goes on."""
        self.stop()
