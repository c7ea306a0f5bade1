"""A client of a ledger, which notes every statement."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dbdyno.errors import ServerError
from dbdyno.generators.judging import GROUP, Entry
from dbdyno.model import Session

TABLE = "ledger"
LIMIT_S = 60.0
"""For a restart, and for killed processes to end, seconds."""
_IDS_OF_CLIENT = 10_000_000
_DELETE_EVERY = 8
"""Every eighth statement of a client deletes what it wrote four statements before."""


@dataclass(slots=True)
class Client:
    """A thread that writes until its session ends."""

    open_session: Callable[[], Session]
    content: Callable[[int], str]
    """Id of a row → its content."""
    place: int
    """Number of the client, from 0."""
    entries: list[Entry] = field(default_factory=list)
    """Its statements, in order."""
    error: ServerError | None = None
    """What ended it: the crash, or a failure before."""
    ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _session: Session | None = None

    def begin(self) -> None:
        """Connects, then writes in a thread of its own."""
        self._session = self.open_session()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Waits until it has noticed the crash. Raises `ServerError` if it does not."""
        if not self.ended.wait(LIMIT_S):
            raise ServerError("a client still waits for a server that was killed")
        assert self._session is not None, "begun"
        self._session.close()

    def _write(self) -> None:
        try:
            statement = 0
            while True:
                statement += 1
                self._send(*self._next(statement))
        except ServerError as error:
            self.error = error
        finally:
            self.ended.set()

    def _next(self, statement: int) -> tuple[Entry, str]:
        first = self.place * _IDS_OF_CLIENT + GROUP * statement
        if statement % _DELETE_EVERY == 0:
            first -= GROUP * (_DELETE_EVERY // 2)
            removed = f"DELETE FROM {TABLE} WHERE id BETWEEN {first} AND {first + GROUP - 1}"
            return Entry(self.place, first, time.monotonic_ns(), deletes=True), removed
        values = ", ".join(f"({row}, '{self.content(row)}')" for row in range(first, first + GROUP))
        return Entry(self.place, first, time.monotonic_ns()), f"INSERT INTO {TABLE} VALUES {values}"

    def _send(self, entry: Entry, text: str) -> None:
        assert self._session is not None, "begun"
        self.entries.append(entry)
        self._session.rows(text)
        entry.acknowledged_ns = time.monotonic_ns()
