"""Statistics by table: its changes, dead rows, and the sizes of it and its indexes. The instance is
the table; only for studies that ask for it (`collect = ["tables"]`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

MOST_TABLES = 50
"""The largest ones: a database of thousands is not asked for all of them each second."""

_POSTGRESQL = f"""
    SELECT relname AS instance, n_tup_ins AS inserts, n_tup_upd AS updates,
           n_tup_del AS deletes, n_tup_hot_upd AS hot_updates, n_live_tup AS live_rows,
           n_dead_tup AS dead_rows, seq_scan AS scans, coalesce(idx_scan, 0) AS index_scans,
           autovacuum_count AS vacuums, pg_table_size(relid) AS table_bytes,
           pg_indexes_size(relid) AS index_bytes
    FROM pg_stat_user_tables ORDER BY table_bytes DESC LIMIT {MOST_TABLES}"""

_SIZES = f"""
    SELECT TABLE_NAME AS instance, TABLE_ROWS AS live_rows, DATA_LENGTH AS table_bytes,
           INDEX_LENGTH AS index_bytes
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
    ORDER BY DATA_LENGTH DESC LIMIT {MOST_TABLES}"""
_CHANGES = f"""
    SELECT OBJECT_NAME AS instance, COUNT_INSERT AS inserts, COUNT_UPDATE AS updates,
           COUNT_DELETE AS deletes, COUNT_FETCH AS rows_read
    FROM performance_schema.table_io_waits_summary_by_table
    WHERE OBJECT_SCHEMA = DATABASE() LIMIT {MOST_TABLES}"""
_FRESH = "SET SESSION information_schema_stats_expiry = 0"
"""From 8.0 on MySQL returns sizes that are up to a day old, unless a session has this set."""

_METRICS = (
    Metric("inserts", "rows", "counter", "Rows inserted, by table"),
    Metric("updates", "rows", "counter", "Rows updated, by table"),
    Metric("hot_updates", "rows", "counter", "Updates without a change of an index (PostgreSQL)"),
    Metric("deletes", "rows", "counter", "Rows deleted, by table"),
    Metric("rows_read", "rows", "counter", "Rows read, by table (MySQL)"),
    Metric("scans", "", "counter", "Scans of the whole table (PostgreSQL)"),
    Metric("index_scans", "", "counter", "Scans of an index of the table (PostgreSQL)"),
    Metric("vacuums", "", "counter", "Vacuums in the background (PostgreSQL)"),
    Metric("live_rows", "rows", "gauge", "Rows there are, as the server estimates"),
    Metric("dead_rows", "rows", "gauge", "Old versions of rows, as estimated (PostgreSQL)"),
    Metric("table_bytes", "B", "gauge", "Size of the table, without its indexes"),
    Metric("index_bytes", "B", "gauge", "Size of its indexes"),
)
_NAMES = frozenset(metric.name for metric in _METRICS)


class _Tables:
    def __init__(self, session: SampledSession, statements: Iterable[str]) -> None:
        self._session = session
        self._statements = tuple(statements)
        self.sample()

    def sample(self) -> Iterable[Reading]:
        rows = (row for each in self._statements for row in self._session.rows(each))
        return [reading for row in rows for reading in _readings(row)]

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _readings(row: Mapping[str, object]) -> Iterable[Reading]:
    instance = str(row.get("instance", ""))
    for name, value in row.items():
        if name in _NAMES and value is not None:
            yield Reading(name, float(str(value)), instance)


def _statements(kind: str, session: SampledSession) -> list[str]:
    """What the server can be asked; a MariaDB without its performance schema has no counts."""
    if kind == "postgresql":
        return [_POSTGRESQL]
    with suppress(ServerError):  # MariaDB and MySQL up to 5.7 have fresh sizes, and no such word
        session.rows(_FRESH)
    try:
        session.rows(_CHANGES)
    except ServerError:
        return [_SIZES]
    return [_SIZES, _CHANGES]


def _open(watched: Watched) -> Readings | Missing | None:
    session = watched.inside() if watched.kind in ("postgresql", "mysql", "mariadb") else None
    if session is None:
        return None
    try:
        return _Tables(session, _statements(watched.kind, session))
    except ServerError as error:
        return Missing(
            f"the server's statistics of tables can't be read: {error.message}",
            "give the URL's role the right to read them",
        )


COLLECTOR = Collector("tables", "run", _METRICS, _open, optional=True)
