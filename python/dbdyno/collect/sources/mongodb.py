"""Servers of MongoDB's protocol: what serverStatus says of commands, connections, memory, cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession, only_row

_STATUS = '{"serverStatus": 1}'
_FIELDS: Mapping[str, Metric] = {
    "connections.current": Metric("clients", "", "gauge", "Connected clients"),
    "connections.totalCreated": Metric("connections", "", "counter", "Connections accepted"),
    "network.bytesIn": Metric("received_bytes", "B", "counter", "Bytes received"),
    "network.bytesOut": Metric("sent_bytes", "B", "counter", "Bytes sent"),
    "network.numRequests": Metric("requests", "", "counter", "Requests received"),
    "globalLock.currentQueue.readers": Metric("readers_queued", "", "gauge", "Reads in a queue"),
    "globalLock.currentQueue.writers": Metric("writers_queued", "", "gauge", "Writes in a queue"),
    "mem.resident": Metric("memory_resident_mb", "MB", "gauge", "Resident memory"),
    "metrics.cursor.open.total": Metric("cursors_open", "", "gauge", "Open cursors"),
    "metrics.document.returned": Metric("documents_returned", "", "counter", "Documents sent"),
    "wiredTiger.cache.bytes currently in the cache": Metric(
        "cache_bytes", "B", "gauge", "Bytes in WiredTiger's cache"
    ),
    "wiredTiger.cache.tracked dirty bytes in the cache": Metric(
        "cache_dirty_bytes", "B", "gauge", "Changed bytes in WiredTiger's cache"
    ),
    "wiredTiger.cache.pages read into cache": Metric(
        "cache_pages_read", "", "counter", "Pages read into WiredTiger's cache"
    ),
    "wiredTiger.cache.pages evicted by application threads": Metric(
        "evicted_by_clients", "", "counter", "Pages that clients' threads had to evict"
    ),
    "wiredTiger.transaction.transaction checkpoint currently running": Metric(
        "checkpoint_running", "", "gauge", "1 during a checkpoint"
    ),
}
"""Path in serverStatus → its metric. FerretDB has few of them."""
_OPERATIONS = Metric("operations", "", "counter", "Operations (MongoDB's opcounters), by kind")
_COMMANDS = Metric("commands", "", "counter", "Commands, by name, the lab's own included")


class _Mongodb:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        self.sample()

    def sample(self) -> Iterable[Reading]:
        """serverStatus, read once."""
        return [*_readings(only_row(self._session.rows(_STATUS), "serverStatus"))]

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _readings(status: Mapping[str, Any]) -> Iterator[Reading]:
    for path, metric in _FIELDS.items():
        value = _at(status, path)
        if _is_number(value):
            yield Reading(metric.name, float(value))
    for name, value in _section(_at(status, "opcounters")):
        if _is_number(value):
            yield Reading(_OPERATIONS.name, float(value), name)
    for name, value in _section(_at(status, "metrics.commands")):
        total = value.get("total") if isinstance(value, Mapping) else None
        if _is_number(total) and total:
            yield Reading(_COMMANDS.name, float(total), name)


def _at(status: Mapping[str, Any], path: str) -> Any:
    section: Any = status
    for name in path.split("."):
        section = section.get(name) if isinstance(section, Mapping) else None
    return section


def _section(section: object) -> Iterable[tuple[str, Any]]:
    return section.items() if isinstance(section, Mapping) else ()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.ask() if watched.kind in ("mongodb", "ferretdb") else None
    if session is None:
        return None
    try:
        return _Mongodb(session)
    except ServerError as error:
        return Missing(
            f"the server's serverStatus can't be read: {error.message}",
            "grant the user of the URL the role clusterMonitor",
        )


COLLECTOR = Collector("mongodb", "run", (*_FIELDS.values(), _OPERATIONS, _COMMANDS), _open)
