"""How far replicas are behind their primary: in bytes of its log, and in seconds.

PostgreSQL's seconds are from when a commit is in the primary's log to when the replica has replayed
it; MariaDB's are whole, by the time stamps of what a replica applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.model import Metric, Missing, Reading, SampledSession

_BEHIND = """
    SELECT application_name AS name,
           pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 AS bytes,
           coalesce(extract(epoch FROM replay_lag), 0)::float8 AS seconds
    FROM pg_stat_replication WHERE replay_lsn IS NOT NULL"""
_UNCONFIRMED = "Rpl_semi_sync_master_no_tx"


class _PostgreSQL:
    """The primary knows how far each replica is."""

    def __init__(self, primary: SampledSession) -> None:
        self._primary = primary

    def sample(self) -> Iterable[Reading]:
        for row in self._primary.rows(_BEHIND):
            yield Reading("lag_bytes", max(0.0, row["bytes"]), row["name"])
            yield Reading("lag_s", row["seconds"], row["name"])

    def close(self) -> None:
        self._primary.close()


class _MariaDB:
    """The primary knows its log, each replica how far it has applied it."""

    def __init__(self, primary: SampledSession, replicas: Mapping[str, SampledSession]) -> None:
        self._primary = primary
        self._replicas = replicas

    def sample(self) -> Iterable[Reading]:
        # Replicas first: the log may only have grown since.
        applied = {
            name: _row(session, "SHOW SLAVE STATUS") for name, session in self._replicas.items()
        }
        logs = self._primary.rows("SHOW BINARY LOGS")
        for name, row in applied.items():
            yield Reading("lag_bytes", _behind(logs, row), name)
            if (late_s := row.get("Seconds_Behind_Master")) is not None:
                yield Reading("lag_s", float(late_s), name)
        if status := _row(self._primary, f"SHOW GLOBAL STATUS LIKE '{_UNCONFIRMED}'"):
            yield Reading("unconfirmed", float(status["Value"]))

    def close(self) -> None:
        for session in (self._primary, *self._replicas.values()):
            session.close()


def _row(session: SampledSession, statement: str) -> Mapping[str, Any]:
    return next(iter(session.rows(statement)), {})


def _behind(logs: Sequence[Mapping[str, Any]], applied: Mapping[str, Any]) -> float:
    """Bytes in the primary's log files behind the place that was applied last."""
    names = [row["Log_name"] for row in logs]
    sizes = [int(row["File_size"]) for row in logs]
    file = applied.get("Relay_Master_Log_File")
    if file not in names:
        return float(sum(sizes))
    return float(max(0, sum(sizes[names.index(file) :]) - int(applied["Exec_Master_Log_Pos"])))


def _open(watched: Watched) -> Readings | Missing | None:
    if not any(member.role == "replica" for member in watched.members):
        return None
    primary = watched.ask()
    if primary is None:
        return None
    if watched.kind == "postgresql":
        return _PostgreSQL(primary)
    sessions = {member.name: member.ask() for member in watched.members[1:]}
    return _MariaDB(primary, {name: session for name, session in sessions.items() if session})


COLLECTOR = Collector(
    "replication",
    "run",
    (
        Metric("lag_bytes", "B", "gauge", "Bytes of the primary's log that a replica lacks"),
        Metric("lag_s", "s", "gauge", "How late a replica applies what the primary has committed"),
        Metric("unconfirmed", "", "counter", "Commits that went on without a replica (MariaDB)"),
    ),
    _open,
)
