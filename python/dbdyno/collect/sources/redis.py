"""Redis and Valkey: what INFO says of clients, memory, keys, persistence and processor time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession, only_row

_FIELDS: Mapping[str, Metric] = {
    "total_commands_processed": Metric(
        "commands", "", "counter", "Commands carried out, the lab's own included"
    ),
    "total_net_input_bytes": Metric(
        "received_bytes", "B", "counter", "Bytes received from clients"
    ),
    "total_net_output_bytes": Metric("sent_bytes", "B", "counter", "Bytes sent to clients"),
    "total_reads_processed": Metric("socket_reads", "", "counter", "Reads of clients' sockets"),
    "total_writes_processed": Metric("socket_writes", "", "counter", "Writes to clients' sockets"),
    "total_error_replies": Metric("error_replies", "", "counter", "Errors sent to clients"),
    "total_connections_received": Metric("connections", "", "counter", "Connections accepted"),
    "rejected_connections": Metric("connections_refused", "", "counter", "Connections refused"),
    "keyspace_hits": Metric("hits", "", "counter", "Lookups that found their key"),
    "keyspace_misses": Metric("misses", "", "counter", "Lookups that found no key"),
    "expired_keys": Metric(
        "keys_expired", "", "counter", "Keys removed because their time was over"
    ),
    "evicted_keys": Metric("keys_evicted", "", "counter", "Keys removed for lack of memory"),
    "rdb_saves": Metric("snapshots", "", "counter", "Snapshots written"),
    "total_forks": Metric("forks", "", "counter", "Forks of the server"),
    "aof_delayed_fsync": Metric("syncs_delayed", "", "counter", "Writes that waited for a sync"),
    "connected_clients": Metric("clients", "", "gauge", "Connected clients"),
    "blocked_clients": Metric("clients_blocked", "", "gauge", "Clients in a blocking command"),
    "used_memory": Metric("memory_bytes", "B", "gauge", "Memory allocated"),
    "used_memory_rss": Metric("memory_resident_bytes", "B", "gauge", "Resident memory"),
    "used_memory_dataset": Metric("memory_data_bytes", "B", "gauge", "Memory of the data"),
    "mem_clients_normal": Metric(
        "memory_clients_bytes", "B", "gauge", "Memory of clients' buffers"
    ),
    "rdb_bgsave_in_progress": Metric(
        "snapshot_running", "", "gauge", "1 while a snapshot is written"
    ),
    "rdb_changes_since_last_save": Metric(
        "changes_unsaved", "", "gauge", "Changes since the last snapshot"
    ),
    "aof_rewrite_in_progress": Metric(
        "rewrite_running", "", "gauge", "1 while the log is rewritten"
    ),
    "aof_current_size": Metric("log_bytes", "B", "gauge", "Size of the append-only log"),
    "latest_fork_usec": Metric("last_fork_us", "µs", "gauge", "Time of the last fork"),
    "io_threads_active": Metric("io_threads_active", "", "gauge", "1 while I/O threads work"),
}
"""Field of INFO → its metric."""
_KEYS = Metric("keys", "", "gauge", "Keys, by database")
_IN_A_DATABASE = re.compile(r"keys=(\d+)")


class _Redis:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        self.sample()

    def sample(self) -> Iterable[Reading]:
        """INFO, read once."""
        row = only_row(self._session.rows("INFO"), "INFO")
        return [*_readings(str(row["value"]))]

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _readings(text: str) -> Iterable[Reading]:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        known = _FIELDS.get(name)
        if known and value.isdecimal():
            yield Reading(known.name, float(value))
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


COLLECTOR = Collector("redis", "run", (*_FIELDS.values(), _KEYS), _open, by_member=True)
