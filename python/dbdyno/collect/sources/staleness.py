"""Stale reads: how often a read of another member misses what the first has just confirmed, and how
old what it lacks is. Only for studies that ask for it (`collect = ["staleness"]`).

Heartbeats of our own, some twenty a second: a number is written to the first member and, once that
is confirmed, read from each of the others. A read that does not have it is stale, by the time since
the first number that it lacks was confirmed. So it is the age of what a client could have read, by
heartbeats and by one clock, whatever a server says of its lag. The clients' own reads are not
looked at. Members that hold other rows never get a number, and are left out.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import InitVar, dataclass, field

from dbdyno.collect.beats import SPACING_S, Beats
from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

_FIRST_LIMIT_S = 5.0
"""How long a member may take to have the first number, else it holds other rows."""
_KINDS = ("postgresql", "mysql", "mariadb")
_SCHEMA = "dbdyno_heartbeat"
_TABLE = f"{_SCHEMA}.beats"
_READ = f"SELECT beat FROM {_TABLE}"
_KEPT = 100_000
"""Numbers whose times are known: over an hour of them."""


@dataclass(slots=True)
class _Seen:
    """What one member was read to have."""

    reads: int = 0
    stale: int = 0
    stale_s: float = 0.0
    """The longest since it was asked for last."""


@dataclass(slots=True)
class _Heartbeats:
    primary: SampledSession
    others: Mapping[str, SampledSession]
    beats: Beats = field(init=False)
    spend: InitVar[Callable[[float], None]]
    _confirmed: dict[int, float] = field(default_factory=dict)
    """Number → when it was confirmed, by the monotonic clock."""
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self, spend: Callable[[float], None]) -> None:
        self._seen = {name: _Seen() for name in self.others}
        self.beats = Beats(self._beat, spend)

    def _beat(self, number: int) -> None:
        self.primary.rows(f"UPDATE {_TABLE} SET beat = {number}")
        self._note_confirmed(number)
        for name, session in self.others.items():
            self._look(name, session, number)

    def _note_confirmed(self, number: int) -> None:
        self._confirmed[number] = time.monotonic()
        self._confirmed.pop(number - _KEPT, None)

    def _look(self, name: str, session: SampledSession, number: int) -> None:
        began = time.monotonic()
        has = int(session.rows(_READ)[0]["beat"])
        # What was not confirmed, as while the first did not answer, nobody can lack.
        lacking = (then for later in range(has + 1, number + 1) if (then := self._time_of(later)))
        first = next(lacking, None)
        with self._lock:
            seen = self._seen[name]
            seen.reads += 1
            if first is not None:
                seen.stale += 1
                seen.stale_s = max(seen.stale_s, began - first)

    def _time_of(self, number: int) -> float | None:
        return self._confirmed.get(number)

    def sample(self) -> Iterable[Reading]:
        """Counts so far, and the longest staleness since the sample before."""
        self.beats.settle()
        with self._lock:
            for name, seen in self._seen.items():
                yield Reading("reads", seen.reads, name)
                yield Reading("stale_reads", seen.stale, name)
                yield Reading("stale_ms", seen.stale_s * 1e3, name)
                seen.stale_s = 0.0

    def close(self) -> None:
        """Ends the heartbeats, and drops their table."""
        self.beats.end()
        with suppress(ServerError):
            self.primary.rows(f"DROP TABLE {_TABLE}")
            self.primary.rows(f"DROP SCHEMA {_SCHEMA}")
        for session in (self.primary, *self.others.values()):
            session.close()


def _open(watched: Watched) -> Readings | Missing | None:
    if watched.kind not in _KINDS or len(watched.members) < 2:
        return None
    if not watched.server_pids():
        return Missing(
            "heartbeats would write to servers that somebody else runs",
            "leave `staleness` out of `collect`; `replication` has what the servers say",
        )
    with ExitStack() as opened:
        primary = watched.ask()
        if primary is None:
            return None
        opened.callback(primary.close)
        for statement in (
            f"CREATE SCHEMA {_SCHEMA}",
            f"CREATE TABLE {_TABLE} (id INT PRIMARY KEY, beat BIGINT)",
            f"INSERT INTO {_TABLE} VALUES (0, 0)",
        ):
            primary.rows(statement)
        others: dict[str, SampledSession] = {}
        for member in watched.members[1:]:
            session = member.ask()
            if session is None:
                continue
            if _follows(session):
                others[member.name] = session
                opened.callback(session.close)
            else:
                session.close()
        if not others:
            primary.rows(f"DROP TABLE {_TABLE}")
            primary.rows(f"DROP SCHEMA {_SCHEMA}")
            return Missing(
                "no member has what the first has just written",
                "leave `staleness` out of `collect` where members hold different rows",
            )
        opened.pop_all()
    heartbeats = _Heartbeats(primary, others, watched.spend)
    heartbeats.beats.begin()
    return heartbeats


def _follows(session: SampledSession) -> bool:
    """Whether a member gets what the first has."""
    deadline = time.monotonic() + _FIRST_LIMIT_S
    while time.monotonic() < deadline:
        with suppress(ServerError):
            if session.rows(_READ):
                return True
        select.select([], [], [], SPACING_S)
    return False


COLLECTOR = Collector(
    "staleness",
    "run",
    (
        Metric("reads", "", "counter", "Heartbeats read from another member than the first"),
        Metric(
            "stale_reads",
            "",
            "counter",
            "Reads of another member without what was confirmed before",
        ),
        Metric(
            "stale_ms",
            "ms",
            "gauge",
            "How long ago what a read lacked was confirmed: the longest since the last sample",
        ),
    ),
    _open,
    optional=True,
)
