"""MySQL and MariaDB: global status, and what InnoDB says of its log, its purge and its buffer pool.

Log position, checkpoint and history list come from SHOW ENGINE INNODB STATUS: it is the one place
that has them in every version. Flushing by cause, purge and the delay of changes are among InnoDB's
metrics, most of which it does not count by itself: `innodb_monitor_enable =
"buffer_flush_%,buffer_LRU_%,purge_%"` among the server's settings turns these on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

_STATUS = "SHOW GLOBAL STATUS"
_INNODB = "SHOW ENGINE INNODB STATUS"
_METRICS = "SELECT * FROM information_schema.INNODB_METRICS WHERE NAME IN ({})"

# Variable → metric, unit, kind, text.
_SENT = ("group_sent_bytes", "B", "counter", "Bytes sent to other nodes of a group")
_RECEIVED = ("group_received_bytes", "B", "counter", "Bytes received from other nodes of a group")
_VARIABLES: Mapping[str, tuple[str, str, str, str]] = {
    "Questions": ("statements", "", "counter", "Statements of clients, the lab's own included"),
    "Com_commit": ("commits", "", "counter", "COMMIT statements"),
    "Com_rollback": ("rollbacks", "", "counter", "ROLLBACK statements"),
    "Bytes_received": ("received_bytes", "B", "counter", "Bytes received from clients"),
    "Bytes_sent": ("sent_bytes", "B", "counter", "Bytes sent to clients"),
    "Threads_running": ("threads_running", "", "gauge", "Sessions that do something"),
    "Threads_connected": ("threads_connected", "", "gauge", "Connected sessions"),
    "Threadpool_threads": ("pool_threads", "", "gauge", "Threads of the thread pool"),
    "Threadpool_idle_threads": ("pool_threads_idle", "", "gauge", "Idle threads of the pool"),
    "Created_tmp_disk_tables": ("temporary_disk_tables", "", "counter", "Temporary tables on disk"),
    "Handler_read_rnd_next": ("rows_scanned", "rows", "counter", "Rows read by scans"),
    "Innodb_rows_read": ("rows_read", "rows", "counter", "Rows read"),
    "Innodb_rows_inserted": ("rows_inserted", "rows", "counter", "Rows inserted"),
    "Innodb_rows_updated": ("rows_updated", "rows", "counter", "Rows updated"),
    "Innodb_rows_deleted": ("rows_deleted", "rows", "counter", "Rows deleted"),
    "Innodb_buffer_pool_pages_total": ("pool_pages", "pages", "gauge", "Pages of the buffer pool"),
    "Innodb_buffer_pool_pages_free": ("pool_pages_free", "pages", "gauge", "Free pages"),
    "Innodb_buffer_pool_pages_dirty": ("pool_pages_dirty", "pages", "gauge", "Dirty pages"),
    "Innodb_buffer_pool_pages_flushed": ("pages_flushed", "pages", "counter", "Pages flushed"),
    "Innodb_buffer_pool_read_requests": ("pool_lookups", "pages", "counter", "Logical page reads"),
    "Innodb_buffer_pool_reads": ("pool_misses", "pages", "counter", "Logical reads that missed"),
    "Innodb_buffer_pool_wait_free": ("pool_waits", "", "counter", "Waits for a free page"),
    "Innodb_data_reads": ("reads", "", "counter", "Reads of data files"),
    "Innodb_data_read": ("read_bytes", "B", "counter", "Bytes read from data files"),
    "Innodb_data_writes": ("writes", "", "counter", "Writes of data files"),
    "Innodb_data_written": ("written_bytes", "B", "counter", "Bytes written to data files"),
    "Innodb_data_fsyncs": ("syncs", "", "counter", "Syncs of data files"),
    "Innodb_os_log_written": ("redo_bytes", "B", "counter", "Bytes written to the redo log"),
    "Innodb_os_log_fsyncs": ("redo_syncs", "", "counter", "Syncs of the redo log"),
    "Innodb_log_waits": ("redo_waits", "", "counter", "Waits for room in the log buffer"),
    "Innodb_dblwr_pages_written": ("doublewrite_pages", "pages", "counter", "Pages doubly written"),
    "Innodb_row_lock_waits": ("row_lock_waits", "", "counter", "Waits for row locks"),
    "Innodb_row_lock_time": ("row_lock_ms", "ms", "counter", "Time waited for row locks"),
    "Innodb_row_lock_current_waits": ("row_lock_waiting", "", "gauge", "Row locks waited for now"),
    "Binlog_bytes_written": ("binlog_bytes", "B", "counter", "Bytes written to the binary log"),
    "wsrep_replicated_bytes": _SENT,
    "wsrep_received_bytes": _RECEIVED,
    "Gr_consensus_bytes_sent_sum": _SENT,
    "Gr_consensus_bytes_received_sum": _RECEIVED,
    "wsrep_local_recv_queue": (
        "group_queue",
        "",
        "gauge",
        "Transactions of a Galera group that wait to be applied",
    ),
    "wsrep_flow_control_paused_ns": (
        "group_paused_ns",
        "ns",
        "counter",
        "Time for which a node that lags has paused a Galera group",
    ),
    "wsrep_local_cert_failures": (
        "group_conflicts",
        "",
        "counter",
        "Commits that a Galera group refused, since another node's came first",
    ),
}
_PATTERNS: Mapping[str, tuple[re.Pattern[str], str, str, str]] = {
    # Metric → where it stands, unit, kind, text. The log position of 5.6 and later is one number.
    "history_list": (
        re.compile(r"History list length (\d+)"),
        "",
        "gauge",
        "Transactions whose old row versions are not purged",
    ),
    "log_position": (
        re.compile(r"^Log sequence number\s+(\d+)", re.M),
        "B",
        "counter",
        "Position in the redo log",
    ),
    "last_checkpoint": (
        re.compile(r"^Last checkpoint at\s+(\d+)", re.M),
        "B",
        "counter",
        "Position of the last checkpoint",
    ),
    "pending_flushes": (
        re.compile(r"^Pending writes: LRU \d+, flush list (\d+)", re.M),
        "pages",
        "gauge",
        "Pages of the flush list being written",
    ),
}
# Name in INNODB_METRICS → metric, unit, kind, text. Of two names, one is that of MySQL 5.6.
_MONITORED: Mapping[str, tuple[str, str, str, str]] = {
    "buffer_flush_adaptive_total_pages": (
        "flushed_adaptive", "pages", "counter", "Pages flushed because the redo log was filling"
    ),
    "buffer_flush_background_total_pages": (
        "flushed_idle", "pages", "counter", "Pages flushed because the server was idle"
    ),
    "buffer_flush_sync_total_pages": (
        "flushed_sync", "pages", "counter", "Pages flushed while changes waited for a checkpoint"
    ),
    "buffer_flush_max_dirty_total_pages": (
        "flushed_max_dirty", "pages", "counter", "Pages flushed because too many were dirty"
    ),
    "buffer_flush_neighbor_total_pages": (
        "flushed_neighbours", "pages", "counter", "Pages flushed because a neighbour was"
    ),
    "buffer_LRU_batch_flush_total_pages": (
        "flushed_lru", "pages", "counter", "Pages flushed to have free ones"
    ),
    "buffer_LRU_batch_total_pages": (
        "flushed_lru", "pages", "counter", "Pages flushed to have free ones"
    ),
    "purge_invoked": ("purge_rounds", "", "counter", "Rounds of purge"),
    "purge_del_mark_records": (
        "purged_deleted", "rows", "counter", "Deleted rows that were purged"
    ),
    "purge_upd_exist_or_extern_records": (
        "purged_updated", "rows", "counter", "Purged updates of an index or of a long value"
    ),
    "purge_undo_log_pages": ("purged_undo_pages", "pages", "counter", "Undo pages purged"),
    "purge_dml_delay_usec": (
        "dml_delay_us", "µs", "gauge", "Delay of each change, set by `innodb_max_purge_lag`"
    ),
}  # fmt: skip
_AGE = Metric("checkpoint_age_bytes", "B", "gauge", "Redo written since the last checkpoint")


class _MySQL:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        # The view is filled whole at each query: only for what somebody turned on.
        rows = session.rows(_METRICS.format(_quoted(_MONITORED)))
        counted = [str(row["NAME"]) for row in rows if _is_counted(row)]
        self._metrics = _METRICS.format(_quoted(counted)) if counted else None
        self.sample()

    def sample(self) -> Iterable[Reading]:
        readings = [*_status(self._session.rows(_STATUS))]
        for row in self._session.rows(_INNODB):
            readings += _innodb(str(row["Status"]))
        if self._metrics is not None:
            readings += _monitored(self._session.rows(self._metrics))
        return readings

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _status(rows: Iterable[Mapping[str, object]]) -> Iterable[Reading]:
    for row in rows:
        known = _VARIABLES.get(str(row["Variable_name"]))
        if known and str(row["Value"]).isdecimal():
            yield Reading(known[0], float(str(row["Value"])))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _is_counted(row: Mapping[str, object]) -> bool:
    """The column of MySQL and MariaDB up to 10.4 is a word, that of later ones a number."""
    return row.get("STATUS") == "enabled" or row.get("ENABLED") == 1


def _monitored(rows: Iterable[Mapping[str, object]]) -> Iterable[Reading]:
    for row in rows:
        yield Reading(_MONITORED[str(row["NAME"])][0], float(str(row["COUNT"])))


def _innodb(text: str) -> Iterable[Reading]:
    values = {
        name: float(match[1])
        for name, (pattern, *_) in _PATTERNS.items()
        if (match := pattern.search(text))
    }
    for name, value in values.items():
        yield Reading(name, value)
    if {"log_position", "last_checkpoint"} <= values.keys():
        yield Reading(_AGE.name, values["log_position"] - values["last_checkpoint"])


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.ask() if watched.kind in ("mysql", "mariadb") else None
    if session is None:
        return None
    try:
        return _MySQL(session)
    except ServerError as error:
        return Missing(
            f"the server's status can't be read: {error.message}",
            "grant the user of the URL PROCESS",
        )


def _metric(name: str, unit: str, kind: str, text: str) -> Metric:
    return Metric(name, unit, "gauge" if kind == "gauge" else "counter", text)


COLLECTOR = Collector(
    "mysql",
    "run",
    (
        *(_metric(*known) for known in dict.fromkeys(_VARIABLES.values())),
        *(_metric(name, *described) for name, (_, *described) in _PATTERNS.items()),
        *(_metric(*known) for known in dict.fromkeys(_MONITORED.values())),
        _AGE,
    ),
    _open,
    by_member=True,
)
