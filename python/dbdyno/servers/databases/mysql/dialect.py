"""Statements and names by which MySQL and MariaDB replicate, and what both do with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mysql.brand import Brand
from dbdyno.servers.protocol import Member, Server
from dbdyno.servers.replication import asked, await_all

_LOOK_S = 1.0
"""How long a replica is waited for by one statement: less than any session's limit."""


@dataclass(frozen=True, slots=True)
class SemiSync:
    """The names by which one of the two makes commits wait for replicas."""

    settings: Mapping[str, str]
    """Of every member."""
    enabled: str
    """The setting that makes commits of the primary wait."""
    replicas: str
    """The status variable that counts the replicas which confirm commits."""
    timeout: str
    """The setting that holds how many milliseconds a commit waits."""
    waits_for: str | None = None
    """The setting that holds how many replicas a commit waits for; `None`: it is always one."""


@dataclass(frozen=True, slots=True)
class Status:
    """The statement that reports a replica's state, and the columns of its result."""

    statement: str
    io_running: str
    sql_running: str
    io_state: str


@dataclass(frozen=True, slots=True)
class Promoting:
    """Statements by which a replica takes the place of its primary, and that one follows it."""

    received: str
    """The column of a replica's state that has the GTIDs it has received."""
    transactions: Callable[[str], int]
    """How many transactions a `position` stands for."""
    stop_receiving: str
    forget: str
    """Makes a replica a server that follows nobody."""
    had: str
    """Gives `had`: every transaction that a server has in its data."""
    holds: Callable[[Session, str], bool]
    """Whether a server has all of those that another `had`."""
    begin_at: Sequence[str]
    """Has a server that follows nobody go on after what it has."""
    hand_over: str
    """Ends the writes of a primary that runs."""
    then_settles: bool
    """Whether it still answers then, so that its replicas can be waited for; else it stops, and
    waits for them itself."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Statements and names of one of the two."""

    brand: Brand
    since: Mapping[str, tuple[int, ...]]
    """Mode → the release that it came with, as far as this code knows it."""
    settings: Mapping[str, str]
    """Of every member, beside its number and its binary log."""
    semi: SemiSync
    status: Status
    new_log: str
    stop: str
    start: str
    follow: str
    """With `{host}`, `{port}`, `{user}` and `{password}` of the primary."""
    position: str
    """Gives `position`: what the primary has committed."""
    wait: str
    """With `{position}` and `{limit_s}`; gives `late`, 0 once a replica has applied that."""
    promoting: Promoting


def follow(dialect: Dialect, session: Session, primary: Server) -> None:
    """Has a replica follow the primary where it listens now."""
    target: Mapping[str, Any] = primary.entry.target("tcp")
    place = target["endpoints"][0]["tcp"]
    begin = dialect.follow.format(**place, **target)
    for statement in (dialect.stop, begin, dialect.start, "SET GLOBAL read_only = ON"):
        session.rows(statement)


def settle(dialect: Dialect, members: Sequence[Member], limit_s: float) -> None:
    """Waits until each replica has applied the log up to the present GTID of the primary, the first
    of `members`."""
    position = row_of(members[0], dialect.position)["position"]
    await_applied(dialect, dict.fromkeys(members[1:], position), limit_s)


def await_applied(dialect: Dialect, positions: Mapping[Member, str], limit_s: float) -> None:
    """Waits until each of some replicas has applied the log up to a GTID."""
    statements = {
        member: dialect.wait.format(position=position, limit_s=_LOOK_S)
        for member, position in positions.items()
    }

    def waiting() -> Mapping[str, str]:
        late = {member.name: row_of(member, asked)["late"] for member, asked in statements.items()}
        return {name: "it is behind the primary" for name, value in late.items() if value != 0}

    await_all(waiting, limit_s)


def row_of(member: Member, statement: str) -> Mapping[str, Any]:
    """The only row of a statement's result, by a session of its own."""
    session = asked(member)
    try:
        return only_row(session.rows(statement), statement)
    finally:
        session.close()
