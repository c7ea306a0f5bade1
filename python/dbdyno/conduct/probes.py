"""Probes beside a load: rows written, rows read and new connections, by clients of their own.

They have an open loop: an attempt is due every so many milliseconds, whatever became of the one
before; one that could not begin in time is left out. Nothing is tried again within an attempt.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.model.fault import PROBES
from dbdyno.servers import Server
from dbdyno.servers.client_session import ClientError, ClientSession, client_session
from dbdyno.thread import WorkThread, wait_for_all

TABLE = "dbdyno_probes"
SPACING_S = 0.02
"""Between attempts of one kind, over its clients."""
LIMIT_S = 1.0
"""For an attempt, connecting included."""
_CLIENTS = 4
"""Of each kind: one that waits for a lost server does not hide that another is served."""
_IDS_OF_CLIENT = 1_000_000_000
END_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of a probe, by the monotonic clock."""

    kind: str
    row: int
    """The id that a write gives; else 0."""
    began_ns: int
    ended_ns: int
    code: str
    """Of the error; empty: it succeeded."""


@dataclass(slots=True)
class Probes:
    """Of one step, from `start` to `stop`."""

    server: Server
    target: Mapping[str, Any]
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[WorkThread] = field(default_factory=list)
    _attempts: list[Attempt] = field(default_factory=list)
    """Appended to by all clients."""

    def start(self) -> None:
        """Makes their table anew, and begins. Raises `ServerError`."""
        session = self.server.database.inside()
        try:
            session.rows(f"DROP TABLE IF EXISTS {TABLE}")
            session.rows(f"CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY)")
            session.rows(f"INSERT INTO {TABLE} VALUES (0)")
        finally:
            session.close()
        for kind in PROBES:
            for place in range(_CLIENTS):
                client = _Client(self.target, kind, place, self._attempts.append, self._over)
                self._threads.append(WorkThread(client.run))
                self._threads[-1].start()

    def stop(self) -> Sequence[Attempt]:
        """Ends them; all attempts, by their ends. Raises `ServerError` if one does not end, and
        whatever ended one before."""
        self._over.set()
        if not wait_for_all(self._threads, END_LIMIT_S):
            raise ServerError(f"a probe waits for its answer for over {END_LIMIT_S:.0f} s")
        return sorted(self._attempts, key=lambda attempt: attempt.ended_ns)

    def lost(self, attempts: Sequence[Attempt]) -> tuple[Sequence[int], int]:
        """When writes were acknowledged that are not there, and how many are in doubt: sent, and
        not acknowledged. Raises `ServerError`."""
        session = self.server.database.inside()
        try:
            there = {int(row["id"]) for row in session.rows(f"SELECT id FROM {TABLE}")}
        finally:
            session.close()
        writes = [attempt for attempt in attempts if attempt.row]
        acknowledged = [attempt for attempt in writes if not attempt.code]
        lost_ns = [attempt.ended_ns for attempt in acknowledged if attempt.row not in there]
        return lost_ns, len(writes) - len(acknowledged)


def keep(attempts: Sequence[Attempt], file: Path, origin_ns: int) -> None:
    """Writes every attempt as a line: kind, row, begin and end in ns after the window's beginning,
    and the error's code."""
    with gzip.open(file, "wt") as out:
        out.write("kind,row,began_ns,ended_ns,code\n")
        for attempt in attempts:
            began, ended = attempt.began_ns - origin_ns, attempt.ended_ns - origin_ns
            out.write(f"{attempt.kind},{attempt.row},{began},{ended},{attempt.code}\n")


def errors_of(attempts: Sequence[Attempt]) -> Mapping[str, int]:
    """Failed attempts by code."""
    return Counter(attempt.code for attempt in attempts if attempt.code)


@dataclass(slots=True)
class _Client:
    target: Mapping[str, Any]
    kind: str
    place: int
    note: Callable[[Attempt], None]
    over: threading.Event
    _session: ClientSession | None = None
    _written: int = 0

    def run(self) -> None:
        """Attempts until it is over."""
        spacing_s = SPACING_S * _CLIENTS
        due = time.monotonic() + SPACING_S * self.place
        try:
            while not self.over.wait(max(0.0, due - time.monotonic())):
                self._attempt()
                due += spacing_s * max(1, 1 + int((time.monotonic() - due) / spacing_s))
        finally:
            self._drop()

    def _attempt(self) -> None:
        row, code = 0, ""
        began_ns = time.monotonic_ns()
        try:
            if self._session is None or self.kind == "connect":
                self._drop()
                self._session = client_session(self.target, LIMIT_S)
            if self.kind == "write":
                self._written += 1
                row = (self.place + 1) * _IDS_OF_CLIENT + self._written
                self._session.rows(f"INSERT INTO {TABLE} VALUES ({row})")
            else:
                self._session.rows(f"SELECT id FROM {TABLE} WHERE id = 0")
        except ClientError as error:
            code = error.code
            self._drop()
        self.note(Attempt(self.kind, row, began_ns, time.monotonic_ns(), code))

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
