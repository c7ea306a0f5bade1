"""Statistics by table: its changes, dead rows, and the sizes of it and its indexes. The instance is
the table; only for studies that ask for it (`collect = ["tables"]`).

MariaDB counts rows by table only where its settings ask for it: with `performance_schema = true`
reads, inserts, updates and deletes, as MySQL does by default; with `userstat = true`, which costs
less, reads and changes (from 11.5 on inserts, updates and deletes, too). Its sizes need neither.
`updates` of MySQL may include rows that an update left as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

MOST_TABLES = 50
"""The largest ones: a database of thousands is not asked for all of them each second."""

_POSTGRESQL = f"""
    SELECT relname AS instance, n_tup_ins AS inserts, n_tup_upd AS updates,
           n_tup_del AS deletes, n_tup_ins + n_tup_upd + n_tup_del AS changes,
           n_tup_hot_upd AS hot_updates, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows_read,
           n_live_tup AS live_rows, n_dead_tup AS dead_rows,
           seq_scan AS scans, coalesce(idx_scan, 0) AS index_scans,
           autovacuum_count AS vacuums, pg_table_size(relid) AS table_bytes,
           pg_indexes_size(relid) AS index_bytes
    FROM pg_stat_user_tables ORDER BY table_bytes DESC LIMIT {MOST_TABLES}"""

_SIZES = f"""
    SELECT TABLE_NAME AS instance, TABLE_ROWS AS live_rows, DATA_LENGTH AS table_bytes,
           INDEX_LENGTH AS index_bytes
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
    ORDER BY DATA_LENGTH DESC LIMIT {MOST_TABLES}"""
_BY_PERFORMANCE_SCHEMA = f"""
    SELECT OBJECT_NAME AS instance, COUNT_INSERT AS inserts, COUNT_UPDATE AS updates,
           COUNT_DELETE AS deletes, COUNT_WRITE AS changes, COUNT_FETCH AS rows_read
    FROM performance_schema.table_io_waits_summary_by_table
    WHERE OBJECT_SCHEMA = DATABASE() AND OBJECT_TYPE = 'TABLE'
    ORDER BY COUNT_STAR DESC LIMIT {MOST_TABLES}"""
_BY_USERSTAT = f"""
    SELECT TABLE_NAME AS instance, ROWS_CHANGED AS changes, ROWS_READ AS rows_read{{kinds}}
    FROM information_schema.TABLE_STATISTICS WHERE TABLE_SCHEMA = DATABASE()
    ORDER BY ROWS_CHANGED + ROWS_READ DESC LIMIT {MOST_TABLES}"""
_KINDS = ", ROWS_INSERTED AS inserts, ROWS_UPDATED AS updates, ROWS_DELETED AS deletes"
"""MariaDB has these since 11.5."""
_SIZES_ALONE = Missing(
    "the server counts no rows by table, only sizes",
    "`performance_schema = true` or, on MariaDB, `userstat = true` among its settings",
)
_NOT_ALLOWED = Missing(
    "the role may not read the server's counts of rows by table, only sizes",
    "`GRANT SELECT ON performance_schema.* TO …`",
)
_FRESH = "SET SESSION information_schema_stats_expiry = 0"
"""From 8.0 on MySQL returns sizes that are up to a day old, unless a session has this set."""

_METRICS = (
    Metric("inserts", "rows", "counter", "Rows inserted, by table"),
    Metric("updates", "rows", "counter", "Rows updated, by table"),
    Metric("hot_updates", "rows", "counter", "Updates without a change of an index (PostgreSQL)"),
    Metric("deletes", "rows", "counter", "Rows deleted, by table"),
    Metric("changes", "rows", "counter", "Rows inserted, updated and deleted, by table"),
    Metric("rows_read", "rows", "counter", "Rows read, by table"),
    Metric("scans", "", "counter", "Scans of the whole table (PostgreSQL)"),
    Metric("index_scans", "", "counter", "Scans of an index of the table (PostgreSQL)"),
    Metric("vacuums", "", "counter", "Vacuums in the background (PostgreSQL)"),
    Metric("live_rows", "rows", "gauge", "Rows there are, as the server estimates"),
    Metric("dead_rows", "rows", "gauge", "Old versions of rows, as estimated (PostgreSQL)"),
    Metric("table_bytes", "B", "gauge", "Size of the table, without its indexes"),
    Metric("index_bytes", "B", "gauge", "Size of its indexes"),
)
_NAMES = frozenset(metric.name for metric in _METRICS)


@dataclass(frozen=True, slots=True)
class _Tables:
    session: SampledSession
    statements: tuple[str, ...]
    lacks: Missing | None = None

    def sample(self) -> Iterable[Reading]:
        rows = (row for statement in self.statements for row in self.session.rows(statement))
        return [reading for row in rows for reading in _readings(row)]

    def close(self) -> None:
        """Ends the session."""
        self.session.close()


def _readings(row: Mapping[str, object]) -> Iterable[Reading]:
    instance = str(row.get("instance", ""))
    for name, value in row.items():
        if name in _NAMES and value is not None:
            yield Reading(name, float(str(value)), instance)


def _of_mysql(session: SampledSession) -> _Tables:
    """Sizes, and rows where the server counts them and the role may read it."""
    with suppress(ServerError):  # MariaDB and MySQL up to 5.7 have fresh sizes, and no such word
        session.rows(_FRESH)
    if _has(session, "performance_schema"):
        counts = _BY_PERFORMANCE_SCHEMA
    elif _has(session, "userstat"):
        counts = _BY_USERSTAT.format(kinds=_KINDS if _counts_kinds(session) else "")
    else:
        return _Tables(session, (_SIZES,), _SIZES_ALONE)
    try:
        session.rows(counts)
    except ServerError:
        return _Tables(session, (_SIZES,), _NOT_ALLOWED)
    return _Tables(session, (_SIZES, counts))


def _has(session: SampledSession, variable: str) -> bool:
    return bool(
        session.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name = '{variable}' AND Value = 'ON'")
    )


def _counts_kinds(session: SampledSession) -> bool:
    return bool(
        session.rows("SHOW COLUMNS FROM information_schema.TABLE_STATISTICS LIKE 'ROWS_INSERTED'")
    )


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.inside() if watched.kind in ("postgresql", "mysql", "mariadb") else None
    if session is None:
        return None
    try:
        on_postgresql = watched.kind == "postgresql"
        opened = _Tables(session, (_POSTGRESQL,)) if on_postgresql else _of_mysql(session)
        opened.sample()
    except ServerError as error:
        session.close()
        return Missing(
            f"the server's statistics of tables can't be read: {error.message}",
            "give the URL's role the right to read them",
        )
    return opened


COLLECTOR = Collector("tables", "run", _METRICS, _open, optional=True)
