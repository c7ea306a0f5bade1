"""Execution latency: from a client's sending of a statement to the server's start of it. Only for
studies that ask for it (`collect = ["execution_latency"]`).

A connection of our own, made as a client's and through the same proxies, asks some twenty times a
second when the server began its statement. The difference to when it was sent is what the statement
waited for: the network, the proxies, and a processor for the server's thread. PostgreSQL says when
it received the message (`statement_timestamp()`), MySQL and MariaDB when the statement began
(`NOW(6)`). Both read the machine's clock, so the server has to run on this machine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from statistics import median

from dbdyno.collect.beats import Beats
from dbdyno.collect.collector import AsClient, Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading

_STARTED = {
    "postgresql": "SELECT extract(epoch FROM statement_timestamp())",
    "mysql": "SELECT UNIX_TIMESTAMP(NOW(6))",
    "mariadb": "SELECT UNIX_TIMESTAMP(NOW(6))",
}
"""Kind → asks when the statement began, in seconds since 1970."""


class _Asked:
    """One connection, made anew after a failure."""

    def __init__(self, watched: Watched) -> None:
        self._watched, self._statement = watched, _STARTED[watched.kind]
        self._session: AsClient | None = watched.as_client()
        self._waits_ms: list[float] = []
        self._statements = 0
        self._lock = threading.Lock()
        self._beats = Beats(self._ask, watched.spend)
        self._beats.begin()

    def _ask(self, _number: int) -> None:
        if self._session is None:
            self._session = self._watched.as_client()
        if self._session is None:
            return
        sent_s = time.time()
        try:
            ((started_s,),) = self._session.rows(self._statement)
        except ServerError:
            self._session.close()
            self._session = None
            raise
        with self._lock:
            self._statements += 1
            self._waits_ms.append(max(0.0, float(started_s) - sent_s) * 1e3)

    def sample(self) -> Iterable[Reading]:
        """Of the statements since the sample before; none where none was answered."""
        self._beats.settle()
        with self._lock:
            waits_ms, self._waits_ms = self._waits_ms, []
            yield Reading("statements", self._statements)
        if waits_ms:
            yield Reading("median_ms", median(waits_ms))
            yield Reading("longest_ms", max(waits_ms))

    def close(self) -> None:
        """Ends the connection."""
        self._beats.end()
        if self._session is not None:
            self._session.close()


def _open(watched: Watched) -> Readings | Missing | None:
    if watched.kind not in _STARTED:
        return None
    if not watched.server_pids():
        return Missing(
            "the server's clock may be another machine's",
            "leave `execution_latency` out of `collect`, or let dbdyno start the server",
        )
    return _Asked(watched)


COLLECTOR = Collector(
    "execution_latency",
    "run",
    (
        Metric("statements", "", "counter", "Statements of our own whose start is known"),
        Metric(
            "median_ms",
            "ms",
            "gauge",
            "From a statement's sending to the server's start of it: median since the last sample",
        ),
        Metric("longest_ms", "ms", "gauge", "The longest since the last sample"),
    ),
    _open,
    optional=True,
)
