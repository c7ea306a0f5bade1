"""pgbouncer: statements, bytes, waiting for a server connection, and its pools, as it counts them.

Several processes are added up; of the longest wait, the longest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading

if TYPE_CHECKING:
    import psycopg

_PROGRAM = "pgbouncer"
"""Also the name of the database that answers."""
_LIMIT_S = 5
_STATS: Mapping[str, Metric] = {
    "total_xact_count": Metric("transactions", "", "counter", "Transactions of clients"),
    "total_query_count": Metric("statements", "", "counter", "Statements of clients"),
    "total_received": Metric("received_bytes", "B", "counter", "Bytes received from clients"),
    "total_sent": Metric("sent_bytes", "B", "counter", "Bytes sent to clients"),
    "total_xact_time": Metric("transaction_us", "µs", "counter", "Time in transactions"),
    "total_query_time": Metric("statement_us", "µs", "counter", "Time that statements took"),
    "total_wait_time": Metric("wait_us", "µs", "counter", "Time for which clients waited"),
}
"""Column of SHOW STATS → its metric."""
_POOLS: Mapping[str, Metric] = {
    "cl_active": Metric("clients", "", "gauge", "Clients with a server connection, or idle"),
    "cl_waiting": Metric("clients_waiting", "", "gauge", "Clients that wait for one"),
    "sv_active": Metric("servers", "", "gauge", "Server connections that a client has"),
    "sv_idle": Metric("servers_idle", "", "gauge", "Server connections that are free"),
}
"""Column of SHOW POOLS → its metric."""
_LONGEST = Metric("longest_wait_s", "s", "gauge", "Longest wait of a client that waits now")


class _Pgbouncer:
    def __init__(self, connections: Sequence[psycopg.Connection[Any]]) -> None:
        self._connections = connections
        self.sample()

    def sample(self) -> Iterable[Reading]:
        """SHOW STATS and SHOW POOLS of every process."""
        # A database has no row before its first client.
        sums = {metric.name: 0.0 for metric in (*_STATS.values(), *_POOLS.values())}
        longest_s = 0.0
        for connection in self._connections:
            for statement, known in (("SHOW STATS", _STATS), ("SHOW POOLS", _POOLS)):
                for row in _rows(connection, statement):
                    for column, metric in known.items():
                        sums[metric.name] += float(row[column])
                    waited_s = float(row.get("maxwait", 0)) + float(row.get("maxwait_us", 0)) / 1e6
                    longest_s = max(longest_s, waited_s)
        return [*(Reading(*found) for found in sums.items()), Reading(_LONGEST.name, longest_s)]

    def close(self) -> None:
        """Ends the sessions."""
        for connection in self._connections:
            connection.close()


def _rows(connection: psycopg.Connection[Any], statement: str) -> Sequence[Mapping[str, Any]]:
    """What is said of databases of clients. Raises `ServerError`."""
    import psycopg

    try:
        with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            # Neither prepared nor with parameters it is sent as text, all that its console takes.
            rows = cursor.execute(statement.encode()).fetchall()
    except psycopg.Error as error:
        raise ServerError(f"pgbouncer refused `{statement}`: {error}") from error
    return [row for row in rows if row["database"] != _PROGRAM]


def _open(watched: Watched) -> Readings | Missing | None:
    places = watched.exposed.get(_PROGRAM)
    if places is None:
        return None
    import psycopg

    account = urlsplit(watched.url)
    connections: list[psycopg.Connection[Any]] = []
    try:
        for place in map(Path, places):
            connections.append(
                psycopg.connect(
                    host=str(place.parent),
                    port=int(place.suffix[1:]),
                    user=account.username,
                    password=unquote(account.password or ""),
                    dbname=_PROGRAM,
                    connect_timeout=_LIMIT_S,
                    autocommit=True,
                    prepare_threshold=None,
                )
            )
        return _Pgbouncer(connections)
    except (psycopg.Error, ServerError) as error:
        for connection in connections:
            connection.close()
        return Missing(
            f"pgbouncer's statistics can't be read: {error}", "leave `stats_users` as it is"
        )


COLLECTOR = Collector("pgbouncer", "run", (*_STATS.values(), *_POOLS.values(), _LONGEST), _open)
