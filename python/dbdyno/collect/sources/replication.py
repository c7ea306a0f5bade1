"""How far replicas are behind their primary: in bytes of its log, and in seconds.

PostgreSQL's seconds are from when a commit is in the primary's log to when the replica has replayed
it, or, of a replica that the primary knows by another name, the age of the last commit that it has
replayed, while it is behind; MySQL's and MariaDB's are whole, by the time stamps of what a replica
applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

_BEHIND = """
    SELECT application_name AS name,
           pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 AS bytes,
           coalesce(extract(epoch FROM replay_lag), 0)::float8 AS seconds
    FROM pg_stat_replication WHERE replay_lsn IS NOT NULL"""

_REPLAYED = """
    SELECT pg_last_wal_replay_lsn()::text AS place,
           coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()),
                    0)::float8 AS seconds"""
_AHEAD = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{}')::float8 AS bytes"


@dataclass(frozen=True, slots=True)
class _Words:
    """What MySQL and MariaDB call the same."""

    status: str
    file: str
    place: str
    late: str
    unconfirmed: str


_WORDS = {
    "mariadb": _Words(
        "SHOW SLAVE STATUS",
        "Relay_Master_Log_File",
        "Exec_Master_Log_Pos",
        "Seconds_Behind_Master",
        "Rpl_semi_sync_master_no_tx",
    ),
    "mysql": _Words(
        "SHOW REPLICA STATUS",
        "Relay_Source_Log_File",
        "Exec_Source_Log_Pos",
        "Seconds_Behind_Source",
        "Rpl_semi_sync_source_no_tx",
    ),
}


class _PostgreSQL:
    """The primary knows how far each replica is, if it knows it by its name here; others, of
    clusters that somebody else runs, are asked themselves."""

    def __init__(
        self, primary: SampledSession, replicas: Mapping[str, Callable[[], SampledSession | None]]
    ) -> None:
        self._primary = primary
        self._replicas = replicas
        self._sessions: dict[str, SampledSession] = {}

    def sample(self) -> Iterable[Reading]:
        known = {row["name"]: row for row in self._primary.rows(_BEHIND)}
        for name in self._replicas:
            row = known.get(name) or self._asked(name)
            if row:
                yield Reading("lag_bytes", max(0.0, row["bytes"]), name)
                yield Reading("lag_s", row["seconds"], name)

    def _asked(self, name: str) -> Mapping[str, Any]:
        """A replica's own answer; empty if it gives none."""
        with suppress(ServerError):
            session = self._sessions.get(name) or self._replicas[name]()
            if session is None:
                return {}
            self._sessions[name] = session
            replayed = _row(session, _REPLAYED)
            if replayed.get("place"):
                ahead = _row(self._primary, _AHEAD.format(replayed["place"]))
                seconds = replayed["seconds"] if ahead["bytes"] > 0 else 0.0
                return {"bytes": ahead["bytes"], "seconds": seconds}
        return {}

    def close(self) -> None:
        for session in (self._primary, *self._sessions.values()):
            session.close()


class _ByLog:
    """The primary knows its log, each replica how far it has applied it."""

    def __init__(
        self, words: _Words, primary: SampledSession, replicas: Mapping[str, SampledSession]
    ) -> None:
        self._words = words
        self._primary = primary
        self._replicas = replicas

    def sample(self) -> Iterable[Reading]:
        # Replicas first: the log may only have grown since.
        applied = {
            name: _row(session, self._words.status) for name, session in self._replicas.items()
        }
        logs = self._primary.rows("SHOW BINARY LOGS")
        for name, row in applied.items():
            yield Reading("lag_bytes", self._behind(logs, row), name)
            if (late_s := row.get(self._words.late)) is not None:
                yield Reading("lag_s", float(late_s), name)
        if status := _row(self._primary, f"SHOW GLOBAL STATUS LIKE '{self._words.unconfirmed}'"):
            yield Reading("unconfirmed", float(status["Value"]))

    def close(self) -> None:
        for session in (self._primary, *self._replicas.values()):
            session.close()

    def _behind(self, logs: Sequence[Mapping[str, Any]], applied: Mapping[str, Any]) -> float:
        """Bytes in the primary's log files behind the place that was applied last."""
        names = [row["Log_name"] for row in logs]
        sizes = [int(row["File_size"]) for row in logs]
        file = applied.get(self._words.file)
        if file not in names:
            return float(sum(sizes))
        return float(max(0, sum(sizes[names.index(file) :]) - int(applied[self._words.place])))


def _row(session: SampledSession, statement: str) -> Mapping[str, Any]:
    return next(iter(session.rows(statement)), {})


def _open(watched: Watched) -> Readings | Missing | None:
    if not any(member.role == "replica" for member in watched.members):
        return None
    primary = watched.ask()
    if primary is None:
        return None
    followers = [member for member in watched.members[1:] if member.role == "replica"]
    if watched.kind == "postgresql":
        return _PostgreSQL(primary, {member.name: member.ask for member in followers})
    if watched.kind not in _WORDS:
        primary.close()
        return None
    sessions = {member.name: member.ask() for member in followers}
    replicas = {name: session for name, session in sessions.items() if session}
    return _ByLog(_WORDS[watched.kind], primary, replicas)


COLLECTOR = Collector(
    "replication",
    "run",
    (
        Metric("lag_bytes", "B", "gauge", "Bytes of the primary's log that a replica lacks"),
        Metric("lag_s", "s", "gauge", "How late a replica applies what the primary has committed"),
        Metric(
            "unconfirmed",
            "",
            "counter",
            "Commits that went on without a replica, in MySQL and MariaDB",
        ),
    ),
    _open,
)
