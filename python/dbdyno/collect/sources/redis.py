"""Redis and Valkey: what INFO says of clients, memory, keys, persistence and processor time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

# Field → metric, unit, kind, text.
_FIELDS: Mapping[str, tuple[str, str, str, str]] = {
    "total_commands_processed": (
        "commands", "", "counter", "Commands carried out, the lab's own included"
    ),
    "total_net_input_bytes": ("received_bytes", "B", "counter", "Bytes received from clients"),
    "total_net_output_bytes": ("sent_bytes", "B", "counter", "Bytes sent to clients"),
    "total_reads_processed": ("socket_reads", "", "counter", "Reads of clients' sockets"),
    "total_writes_processed": ("socket_writes", "", "counter", "Writes to clients' sockets"),
    "total_error_replies": ("error_replies", "", "counter", "Errors sent to clients"),
    "total_connections_received": ("connections", "", "counter", "Connections accepted"),
    "rejected_connections": ("connections_refused", "", "counter", "Connections refused"),
    "keyspace_hits": ("hits", "", "counter", "Lookups that found their key"),
    "keyspace_misses": ("misses", "", "counter", "Lookups that found no key"),
    "expired_keys": ("keys_expired", "", "counter", "Keys removed because their time was over"),
    "evicted_keys": ("keys_evicted", "", "counter", "Keys removed for lack of memory"),
    "rdb_saves": ("snapshots", "", "counter", "Snapshots written"),
    "total_forks": ("forks", "", "counter", "Forks of the server"),
    "aof_delayed_fsync": ("syncs_delayed", "", "counter", "Writes that waited for a sync"),
    "connected_clients": ("clients", "", "gauge", "Connected clients"),
    "blocked_clients": ("clients_blocked", "", "gauge", "Clients in a blocking command"),
    "used_memory": ("memory_bytes", "B", "gauge", "Memory allocated"),
    "used_memory_rss": ("memory_resident_bytes", "B", "gauge", "Resident memory"),
    "used_memory_dataset": ("memory_data_bytes", "B", "gauge", "Memory of the data"),
    "mem_clients_normal": ("memory_clients_bytes", "B", "gauge", "Memory of clients' buffers"),
    "rdb_bgsave_in_progress": ("snapshot_running", "", "gauge", "1 while a snapshot is written"),
    "rdb_changes_since_last_save": (
        "changes_unsaved", "", "gauge", "Changes since the last snapshot"
    ),
    "aof_rewrite_in_progress": ("rewrite_running", "", "gauge", "1 while the log is rewritten"),
    "aof_current_size": ("log_bytes", "B", "gauge", "Size of the append-only log"),
    "latest_fork_usec": ("last_fork_us", "µs", "gauge", "Time of the last fork"),
    "io_threads_active": ("io_threads_active", "", "gauge", "1 while I/O threads work"),
}  # fmt: skip
_KEYS = Metric("keys", "", "gauge", "Keys, by database")
_IN_A_DATABASE = re.compile(r"keys=(\d+)")


class _Redis:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        self.sample()

    def sample(self) -> Iterable[Reading]:
        """INFO, read once."""
        (row,) = self._session.rows("INFO")
        return [*_readings(str(row["value"]))]

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _readings(text: str) -> Iterable[Reading]:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        known = _FIELDS.get(name)
        if known and value.isdecimal():
            yield Reading(known[0], float(value))
        elif name.startswith("db") and (keys := _IN_A_DATABASE.match(value)):
            yield Reading(_KEYS.name, float(keys[1]), name)


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.ask() if watched.kind in ("redis", "valkey") else None
    if session is None:
        return None
    try:
        return _Redis(session)
    except ServerError as error:
        return Missing(
            f"the server's INFO can't be read: {error.message}",
            "let the user of the URL send INFO: `ACL SETUSER NAME +info`",
        )


def _metric(name: str, unit: str, kind: str, text: str) -> Metric:
    return Metric(name, unit, "gauge" if kind == "gauge" else "counter", text)


COLLECTOR = Collector(
    "redis", "run", (*(_metric(*known) for known in _FIELDS.values()), _KEYS), _open
)
