"""A ledger beside a load: clients that write without a pause, and note every row before it is sent
and when it is acknowledged, outside of what dies.

A probe's row every 20 ms seldom meets the moment of a crash. These rows follow one another as fast
as they are acknowledged, so that there is always one on its way.
"""

from __future__ import annotations

import gzip
import threading
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.conduct.probes import END_LIMIT_S, LIMIT_S
from dbdyno.errors import ServerError
from dbdyno.model import Session
from dbdyno.servers import Server
from dbdyno.servers.client_session import ClientError, ClientSession, client_session
from dbdyno.thread import WorkThread, wait_for_all

TABLE = "dbdyno_ledger"
_IDS_OF_CLIENT = 1_000_000_000
_AGAIN_S = 0.005
"""After a failure, until it tries again."""
_AT_A_TIME = 50_000
"""Rows that are looked for by one statement."""


@dataclass(slots=True)
class Ledger:
    """Of one step, from `start` to `stop`."""

    server: Server
    target: Mapping[str, Any]
    count: int
    """How many clients; without any it does nothing."""
    _over: threading.Event = field(default_factory=threading.Event)
    _clients: list[_Client] = field(default_factory=list)
    _threads: list[WorkThread] = field(default_factory=list)

    def start(self) -> None:
        """Makes its table anew, and begins. Raises `ServerError`."""
        if not self.count:
            return
        session = self.server.database.inside()
        try:
            session.rows(f"DROP TABLE IF EXISTS {TABLE}")
            session.rows(f"CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY)")
        finally:
            session.close()
        self._clients = [_Client(self.target, place, self._over) for place in range(self.count)]
        self._threads = [WorkThread(client.run) for client in self._clients]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends its clients. Raises `ServerError` if one does not end, and whatever ended one
        before."""
        self._over.set()
        if not wait_for_all(self._threads, END_LIMIT_S):
            raise ServerError(f"the ledger waits for an answer for over {END_LIMIT_S:.0f} s")

    def acknowledged_ns(self) -> Sequence[int]:
        """When rows were acknowledged, by the monotonic clock, in order."""
        times_ns = (at_ns for client in self._clients for at_ns in client.acknowledged_ns)
        return sorted(at_ns for at_ns in times_ns if at_ns)

    def in_doubt(self) -> int:
        """Rows that were sent and not acknowledged."""
        return sum(client.acknowledged_ns.count(0) for client in self._clients)

    def look(self) -> None:
        """Looks for every row, once all clients have ended. Raises `ServerError`."""
        if not self._clients:
            return
        session = self.server.database.inside()
        try:
            for client in self._clients:
                client.found = _found(client, session)
        finally:
            session.close()

    def lost_ns(self) -> Sequence[int]:
        """When those rows were acknowledged that were not there when they were looked for."""
        return sorted(
            at_ns
            for client in self._clients
            for at_ns, found in zip(client.acknowledged_ns, client.found, strict=True)
            if at_ns and not found
        )

    def keep(self, file: Path, origin_ns: int) -> None:
        """Writes every row: id, when it was sent and acknowledged, in ns after the window's
        beginning, and whether it was found, 1 or 0; nothing for what is not known."""
        if not self._clients:
            return
        with gzip.open(file, "wt") as out:
            out.write("row,sent_ns,acknowledged_ns,found\n")
            for client in self._clients:
                for number, sent_ns in enumerate(client.sent_ns):
                    at_ns = client.acknowledged_ns[number]
                    answered = str(at_ns - origin_ns) if at_ns else ""
                    found = client.found[number] if client.found else ""
                    sent = sent_ns - origin_ns
                    out.write(f"{client.first_id + number},{sent},{answered},{found}\n")


def _found(client: _Client, session: Session) -> bytearray:
    """1 for each row of a client that is there, else 0."""
    first, found = client.first_id, bytearray(len(client.sent_ns))
    for begin in range(0, len(client.sent_ns), _AT_A_TIME):
        end = min(begin + _AT_A_TIME, len(client.sent_ns))
        asked = f"SELECT id FROM {TABLE} WHERE id >= {first + begin} AND id < {first + end}"
        for row in session.rows(asked):
            found[int(row["id"]) - first] = 1
    return found


@dataclass(slots=True)
class _Client:
    target: Mapping[str, Any]
    place: int
    over: threading.Event
    sent_ns: array[int] = field(default_factory=lambda: array("q"))
    acknowledged_ns: array[int] = field(default_factory=lambda: array("q"))
    """Of the same rows; 0: no answer came."""
    found: bytearray = field(default_factory=bytearray)
    """Of the same rows, once they were looked for."""
    _session: ClientSession | None = None

    @property
    def first_id(self) -> int:
        """The id of its first row."""
        return (self.place + 1) * _IDS_OF_CLIENT

    def run(self) -> None:
        """Writes until it is over; connects again after a failure."""
        try:
            while not self.over.is_set():
                try:
                    self._write()
                except ClientError:
                    self._drop()
                    self.over.wait(_AGAIN_S)
        finally:
            self._drop()

    def _write(self) -> None:
        if self._session is None:
            self._session = client_session(self.target, LIMIT_S)
        row = self.first_id + len(self.sent_ns)
        self.sent_ns.append(time.monotonic_ns())
        self.acknowledged_ns.append(0)
        self._session.rows(f"INSERT INTO {TABLE} VALUES ({row})")
        self.acknowledged_ns[-1] = time.monotonic_ns()

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
