"""A statement that a fault is to meet: a checkpoint, a table that is altered."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field

from dbdyno.errors import ServerError
from dbdyno.model import Session
from dbdyno.servers.protocol import Member

_HEAD_START_S = 0.01
"""From when it is sent to the fault: enough for the server to begin it."""
_END_LIMIT_S = 60.0


@dataclass(slots=True)
class During:
    """Sent by a session of the lab's own to the member that the fault meets."""

    member: Member
    statement: str
    _ended: threading.Event = field(default_factory=threading.Event)
    _error: ServerError | None = None

    def begin(self) -> bool:
        """Sends it; returns, a moment later, whether it still runs. Raises `ServerError` if the
        member refuses it."""
        session = self.member.server.database.inside()
        threading.Thread(target=self._run, args=(session,), daemon=True).start()
        if not self._ended.wait(_HEAD_START_S):
            return True
        if self._error is not None:
            message = f"`during`, on {self.member.name}: {self._error.message}"
            raise ServerError(message, hint=self._error.hint)
        return False

    def end(self) -> None:
        """Waits for its end, which may be the server's."""
        if not self._ended.wait(_END_LIMIT_S):
            raise ServerError(
                f"`{self.statement}` runs for over {_END_LIMIT_S:.0f} s after a fault"
            )

    def _run(self, session: Session) -> None:
        try:
            session.rows(self.statement)
        except ServerError as error:
            self._error = error
        finally:
            with suppress(ServerError):
                session.close()
            self._ended.set()
