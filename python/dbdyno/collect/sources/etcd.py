"""The etcd by which the members of a topology agree: leader, writes, and how long its disk takes.

etcd answers once an entry is in its synced log, so a slow disk makes it lose its leader; its own
manual asks for 99 of 100 syncs in under 10 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.collect.collector import of_a_program
from dbdyno.collect.exposition import read_metrics
from dbdyno.model import Metric, Reading

_SYNC = "etcd_disk_wal_fsync_duration_seconds"
_COMMIT = "etcd_disk_backend_commit_duration_seconds"
_KNOWN: Mapping[str, Metric] = {
    "etcd_server_has_leader": Metric("has_leader", "", "gauge", "1 while there is a leader"),
    "etcd_server_leader_changes_seen_total": Metric(
        "leader_changes", "", "counter", "Leaders that this member has seen"
    ),
    "etcd_server_proposals_committed_total": Metric(
        "committed", "", "counter", "Entries of the log that were agreed"
    ),
    "etcd_server_proposals_applied_total": Metric(
        "applied", "", "counter", "Entries of the log that were carried out"
    ),
    "etcd_server_proposals_pending": Metric(
        "pending", "", "gauge", "Writes that wait to be agreed"
    ),
    "etcd_server_proposals_failed_total": Metric("failed", "", "counter", "Writes that failed"),
    "etcd_server_slow_apply_total": Metric(
        "slow_applies", "", "counter", "Requests that took etcd over 100 ms to carry out"
    ),
    f"{_SYNC}_count": Metric("log_syncs", "", "counter", "Syncs of the log"),
    f"{_SYNC}_sum": Metric("log_sync_s", "s", "counter", "Time that syncs of the log took"),
    f"{_COMMIT}_count": Metric("commits", "", "counter", "Commits of the database's file"),
    f"{_COMMIT}_sum": Metric("commit_s", "s", "counter", "Time that commits of the file took"),
    "etcd_mvcc_db_total_size_in_bytes": Metric(
        "database_bytes", "B", "gauge", "Size of the database's file"
    ),
    "etcd_mvcc_db_total_size_in_use_in_bytes": Metric(
        "database_used_bytes", "B", "gauge", "Of it, what is in use"
    ),
    "etcd_network_client_grpc_received_bytes_total": Metric(
        "received_bytes", "B", "counter", "Bytes received from clients"
    ),
    "etcd_network_client_grpc_sent_bytes_total": Metric(
        "sent_bytes", "B", "counter", "Bytes sent to clients"
    ),
    "process_cpu_seconds_total": Metric("processor_s", "s", "counter", "Processor time of etcd"),
    "process_resident_memory_bytes": Metric(
        "resident_bytes", "B", "gauge", "Resident memory of etcd"
    ),
}
"""Name in etcd's metrics → ours."""
_SLOW_S = "0.008"
"""The bound of etcd's own classes of time that is nearest below 10 ms."""
_SLOW = Metric("slow_log_syncs", "", "counter", "Syncs of the log that took over 8 ms")


def _read(addresses: Sequence[str]) -> Sequence[Reading]:
    (address,) = addresses
    return [*_readings(read_metrics(address))]


def _readings(values: Mapping[str, float]) -> Iterator[Reading]:
    for name, metric in _KNOWN.items():
        if (value := values.get(name)) is not None:
            yield Reading(metric.name, value)
    quick = values.get(f'{_SYNC}_bucket{{le="{_SLOW_S}"}}')
    if quick is not None:
        yield Reading(_SLOW.name, values[f"{_SYNC}_count"] - quick)


COLLECTOR = of_a_program(
    "etcd", (*_KNOWN.values(), _SLOW), _read, program="etcd", what="etcd's metrics"
)
