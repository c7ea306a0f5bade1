"""PostgreSQL from 9.6 on: its statistics views, its log position, and what its sessions wait for.

The views gain and lose columns from version to version. Each is read whole, and the columns known
here are taken where they are: a metric has one name in all versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession, only_row

_VERSION = """
    SELECT current_setting('server_version_num')::int AS version,
           pg_is_in_recovery() AS is_replica"""
_DATABASE = """
    SELECT sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback,
           sum(blks_read) AS blks_read, sum(blks_hit) AS blks_hit,
           sum(tup_returned) AS tup_returned, sum(tup_fetched) AS tup_fetched,
           sum(tup_inserted) AS tup_inserted, sum(tup_updated) AS tup_updated,
           sum(tup_deleted) AS tup_deleted, sum(temp_bytes) AS temp_bytes,
           sum(deadlocks) AS deadlocks, sum(numbackends) AS numbackends
    FROM pg_stat_database WHERE datname IS DISTINCT FROM 'postgres'"""
_WRITER = "SELECT * FROM pg_stat_bgwriter"
_CHECKPOINTER = "SELECT * FROM pg_stat_checkpointer"
_WAL = "SELECT * FROM pg_stat_wal"
_POSITION = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint AS wal_position"
_POSITION_9_6 = "SELECT (pg_current_xlog_location() - '0/0'::pg_lsn)::bigint AS wal_position"
_REPLAYED = "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint AS wal_position"
"""Of a replica, from version 10."""
_IO = """
    SELECT backend_type AS instance, sum(reads) AS reads, sum(writes) AS writes,
           sum(extends) AS extends, sum(fsyncs) AS fsyncs, sum(evictions) AS evictions
    FROM pg_stat_io GROUP BY backend_type"""
_WAITS = """
    SELECT coalesce(wait_event_type || ':' || wait_event, 'running') AS instance,
           count(*) AS sessions
    FROM pg_stat_activity
    WHERE state = 'active' AND pid <> pg_backend_pid() GROUP BY 1"""

_ROWS_OF = "SELECT coalesce(json_agg(one), '[]') AS found FROM ({}) AS one"
"""All views in one statement: one each took the lab three times as long."""

# Column → metric, unit, kind, text.
_COLUMNS: Mapping[str, tuple[str, str, str, str]] = {
    "xact_commit": ("commits", "", "counter", "Transactions committed"),
    "xact_rollback": ("rollbacks", "", "counter", "Transactions rolled back"),
    "blks_read": ("blocks_read", "blocks", "counter", "Blocks that were not in shared buffers"),
    "blks_hit": ("blocks_hit", "blocks", "counter", "Blocks found in shared buffers"),
    "tup_returned": ("rows_returned", "rows", "counter", "Rows read by scans"),
    "tup_fetched": ("rows_fetched", "rows", "counter", "Rows fetched by index"),
    "tup_inserted": ("rows_inserted", "rows", "counter", "Rows inserted"),
    "tup_updated": ("rows_updated", "rows", "counter", "Rows updated"),
    "tup_deleted": ("rows_deleted", "rows", "counter", "Rows deleted"),
    "temp_bytes": ("temporary_bytes", "B", "counter", "Bytes written to temporary files"),
    "deadlocks": ("deadlocks", "", "counter", "Deadlocks"),
    "numbackends": ("backends", "", "gauge", "Connected sessions"),
    "checkpoints_timed": ("checkpoints_timed", "", "counter", "Checkpoints by the clock"),
    "num_timed": ("checkpoints_timed", "", "counter", "Checkpoints by the clock"),
    "checkpoints_req": ("checkpoints_asked", "", "counter", "Checkpoints for other reasons"),
    "num_requested": ("checkpoints_asked", "", "counter", "Checkpoints for other reasons"),
    "buffers_checkpoint": (
        "checkpoint_blocks",
        "blocks",
        "counter",
        "Blocks written by checkpoints",
    ),
    "buffers_written": ("checkpoint_blocks", "blocks", "counter", "Blocks written by checkpoints"),
    "buffers_clean": ("writer_blocks", "blocks", "counter", "Blocks written in the background"),
    "buffers_backend": ("backend_blocks", "blocks", "counter", "Blocks that sessions had to write"),
    "buffers_backend_fsync": ("backend_syncs", "", "counter", "Syncs that sessions had to make"),
    "wal_records": ("wal_records", "", "counter", "Records of the write-ahead log"),
    "wal_fpi": ("wal_full_pages", "pages", "counter", "Full pages in the write-ahead log"),
    "wal_buffers_full": ("wal_buffers_full", "", "counter", "Writes because log buffers were full"),
    "wal_write": ("wal_writes", "", "counter", "Writes of the log"),
    "wal_sync": ("wal_syncs", "", "counter", "Syncs of the log"),
    "wal_position": ("wal_bytes", "B", "counter", "Position in the write-ahead log"),
    "reads": ("io_reads", "", "counter", "Reads by kind of process"),
    "writes": ("io_writes", "", "counter", "Writes by kind of process"),
    "extends": ("io_extends", "", "counter", "Extensions of files by kind of process"),
    "fsyncs": ("io_syncs", "", "counter", "Syncs by kind of process"),
    "evictions": ("io_evictions", "", "counter", "Evictions from shared buffers"),
    "sessions": ("waiting", "sessions", "gauge", "Active sessions by what they wait for"),
}


class _PostgreSQL:
    def __init__(self, session: SampledSession) -> None:
        self._session = session
        row = only_row(session.rows(_VERSION), _VERSION)
        version = int(str(row["version"])) // 10_000
        statements = [_DATABASE, _WRITER, _WAITS]
        if version >= 10:
            statements.append(_REPLAYED if row["is_replica"] else _POSITION)
        elif not row["is_replica"]:
            statements.append(_POSITION_9_6)
        statements += [_WAL] if version >= 14 else []
        statements += [_IO] if version >= 16 else []
        statements += [_CHECKPOINTER] if version >= 17 else []
        self._statement = " UNION ALL ".join(map(_ROWS_OF.format, statements))

    def sample(self) -> Iterable[Reading]:
        for view in self._session.rows(self._statement):
            for row in view["found"]:
                yield from _readings(row)

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _readings(row: Mapping[str, object]) -> Iterable[Reading]:
    instance = str(row.get("instance", ""))
    for column, value in row.items():
        if column in _COLUMNS and value is not None:
            yield Reading(_COLUMNS[column][0], float(str(value)), instance)


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.ask() if watched.kind == "postgresql" else None
    if session is None:
        return None
    try:
        return _PostgreSQL(session)
    except ServerError as error:
        return Missing(
            f"PostgreSQL's statistics can't be read: {error.message}",
            "give the role of the URL the right to read pg_stat views (pg_monitor)",
        )


def _metrics() -> tuple[Metric, ...]:
    unique = {
        name: Metric(name, unit, "gauge" if kind == "gauge" else "counter", text)
        for name, unit, kind, text in _COLUMNS.values()
    }
    return tuple(unique.values())


COLLECTOR = Collector("postgresql", "run", _metrics(), _open, by_member=True)
