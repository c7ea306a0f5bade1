"""ClickHouse: what system.events and system.metrics say of queries, rows, bytes, parts, merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

_EVENTS: Mapping[str, Metric] = {
    "Query": Metric("queries", "", "counter", "Queries begun, the lab's own included"),
    "SelectQuery": Metric("selects", "", "counter", "SELECT queries begun"),
    "InsertQuery": Metric("inserts", "", "counter", "INSERT queries begun"),
    "SelectedRows": Metric("rows_read", "", "counter", "Rows read from tables"),
    "SelectedBytes": Metric("read_bytes", "B", "counter", "Uncompressed bytes read from tables"),
    "SelectedParts": Metric("parts_read", "", "counter", "Parts of tables that queries read"),
    "SelectedMarks": Metric("marks_read", "", "counter", "Granules of tables that queries read"),
    "InsertedRows": Metric("rows_inserted", "", "counter", "Rows inserted into tables"),
    "InsertedBytes": Metric("inserted_bytes", "B", "counter", "Uncompressed bytes inserted"),
    "MergedRows": Metric("rows_merged", "", "counter", "Rows read by merges"),
    "MergedUncompressedBytes": Metric("merged_bytes", "B", "counter", "Bytes read by merges"),
    "ReadBufferFromFileDescriptorReadBytes": Metric(
        "file_read_bytes", "B", "counter", "Bytes read from files, of the cache or the disk"
    ),
    "WriteBufferFromFileDescriptorWriteBytes": Metric(
        "file_written_bytes", "B", "counter", "Bytes written to files"
    ),
    "CompressedReadBufferBytes": Metric(
        "decompressed_bytes", "B", "counter", "Bytes that decompression yielded"
    ),
    "MarkCacheHits": Metric("mark_cache_hits", "", "counter", "Marks read in their cache"),
    "MarkCacheMisses": Metric("mark_cache_misses", "", "counter", "Marks not in their cache"),
    "DelayedInserts": Metric("inserts_delayed", "", "counter", "Inserts delayed by many parts"),
    "RejectedInserts": Metric("inserts_rejected", "", "counter", "Inserts refused: many parts"),
}
"""Name in system.events → its metric. A server lists those that have happened."""
_OF_NEWER = frozenset({"SelectedRows", "SelectedBytes"})
"""Events that releases before 20 do not count, which is not the same as none."""
_METRICS: Mapping[str, Metric] = {
    "Query": Metric("queries_running", "", "gauge", "Queries that are being carried out"),
    "Merge": Metric("merges_running", "", "gauge", "Merges in the background"),
    "TCPConnection": Metric("clients", "", "gauge", "Connections of the native protocol"),
    "HTTPConnection": Metric("http_clients", "", "gauge", "Connections of HTTP"),
    "MemoryTracking": Metric("memory_queries_bytes", "B", "gauge", "Memory of running queries"),
    "MemoryTrackingForMerges": Metric("memory_merges_bytes", "B", "gauge", "Memory of merges"),
}
"""Name in system.metrics → its metric."""
_ASKED = (
    "SELECT 'event' AS kind, event AS name, toInt64(value) AS value FROM system.events "
    "UNION ALL SELECT 'metric' AS kind, metric AS name, toInt64(value) AS value "
    "FROM system.metrics"
)


class _Clickhouse:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        self.sample()

    def sample(self) -> Iterable[Reading]:
        """Events and metrics, by one query."""
        return [*self._readings()]

    def _readings(self) -> Iterator[Reading]:
        read = {
            (str(row["kind"]), str(row["name"])): float(row["value"])
            for row in self._session.rows(_ASKED)
        }
        for name, metric in _EVENTS.items():
            value = read.get(("event", name))
            if value is not None or name not in _OF_NEWER:
                yield Reading(metric.name, value or 0.0)
        for name, metric in _METRICS.items():
            if (value := read.get(("metric", name))) is not None:
                yield Reading(metric.name, value)

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.ask() if watched.kind == "clickhouse" else None
    if session is None:
        return None
    try:
        return _Clickhouse(session)
    except ServerError as error:
        return Missing(
            f"the server's system.events can't be read: {error.message}",
            "let the user of the URL read the database `system`",
        )


COLLECTOR = Collector("clickhouse", "run", (*_EVENTS.values(), *_METRICS.values()), _open)
