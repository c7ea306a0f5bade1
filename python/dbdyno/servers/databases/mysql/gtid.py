"""Replication by GTID of MySQL and MariaDB, which differ in statements and names: every member
begins with the same empty tables and a new binary log; semi-synchronous where commits wait for
replicas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mysql.brand import Brand, release_numbers
from dbdyno.servers.databases.mysql.server import MysqlServer
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec
from dbdyno.servers.replication import Confirmed, Promoter, asked, await_all

_JOIN_LIMIT_S = 60.0
_WAITS_MS = 600_000
"""How long a commit waits for a replica before it goes on without: so long that no
run becomes asynchronous unnoticed."""
_LOOK_S = 1.0
"""How long a replica is waited for by one statement: less than any session's limit."""
ASYNCHRONOUS, SEMI = "asynchronous", "semi-synchronous"


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


@dataclass(frozen=True, slots=True)
class GtidReplication:
    """Replicas are read-only, except for dbdyno's own role."""

    dialect: Dialect
    reserved: frozenset[str]
    most_confirming: int | None
    modes: Sequence[str] = field(default=(ASYNCHRONOUS, SEMI))
    promoter: Promoter | None = None

    def refuses(self, provision: Provision, mode: str) -> str | None:
        """By the server's release, where that is known."""
        release, since = release_numbers(provision.version or ""), self.dialect.since.get(mode)
        if release and since and release < since:
            title, oldest = self.dialect.brand.title, ".".join(map(str, since))
            return f"`{mode}` takes {title} {oldest} or newer; this is {provision.version}"
        return None

    def settings(self, confirmed: Confirmed, role: str, number: int) -> Mapping[str, str]:
        """A binary log by rows; a relay log on replicas."""
        own = {
            "server_id": str(number),
            "log_bin": "binlog",
            "binlog_format": "ROW",
            "relay_log": "relaylog",
            **self.dialect.settings,
        }
        if confirmed.mode == SEMI:
            semi = self.dialect.semi
            own |= {**semi.settings, semi.timeout: str(_WAITS_MS)}
            if semi.waits_for is not None:
                own[semi.waits_for] = str(confirmed.replicas)
        return own

    def open_member(
        self, spec: ServerSpec, folder: Path, name: str, primary: Server | None
    ) -> Server:
        """Makes a server, of a replica with its primary's password; `join` makes it a replica."""
        server = MysqlServer(self.dialect.brand, spec, folder)
        if isinstance(primary, MysqlServer):
            server.share_password(primary)
        return server

    def join(self, members: Sequence[Member], confirmed: Confirmed, *, new: bool) -> None:
        """A new log begins where all members have the same tables: none replays how they were
        made."""
        primary, replicas = members[0], members[1:]
        sessions = {member.name: member.server.database.inside() for member in members}
        try:
            if new:
                for session in sessions.values():
                    session.rows(self.dialect.new_log)
            for replica in replicas:
                self._follow(sessions[replica.name], primary.server)
            followers = {replica.name: sessions[replica.name] for replica in replicas}
            await_all(lambda: self._not_running(followers), _JOIN_LIMIT_S)
            if confirmed.mode == SEMI:
                self._wait_for_replicas(sessions[primary.name], len(replicas))
        finally:
            for session in sessions.values():
                session.close()

    def settle(self, members: Sequence[Member], limit_s: float) -> None:
        """Waits until each replica has applied the log up to the primary's present GTID."""
        position = _row_of(members[0], self.dialect.position)["position"]
        statement = self.dialect.wait.format(position=position, limit_s=_LOOK_S)

        def waiting() -> Mapping[str, str]:
            late = {replica.name: _row_of(replica, statement)["late"] for replica in members[1:]}
            return {name: "it is behind the primary" for name, value in late.items() if value != 0}

        await_all(waiting, limit_s)

    def _follow(self, session: Session, primary: Server) -> None:
        """Has a replica follow the primary where it listens now."""
        target: Mapping[str, Any] = primary.entry.target("tcp")
        place = target["endpoints"][0]["tcp"]
        follow = self.dialect.follow.format(**place, **target)
        for statement in (
            self.dialect.stop,
            follow,
            self.dialect.start,
            "SET GLOBAL read_only = ON",
        ):
            session.rows(statement)

    def _not_running(self, followers: Mapping[str, Session]) -> Mapping[str, str]:
        """Replica → why it does not follow, of those that don't."""
        words, left = self.dialect.status, dict[str, str]()
        for name, session in followers.items():
            (row,) = session.rows(words.statement) or ({},)
            running = (row.get(words.io_running), row.get(words.sql_running))
            if running != ("Yes", "Yes"):
                why = row.get("Last_IO_Error") or row.get("Last_SQL_Error")
                left[name] = str(why or row.get(words.io_state) or "it has not begun")
        return left

    def _wait_for_replicas(self, session: Session, replicas: int) -> None:
        """Makes commits wait from now on; returns once all replicas confirm them."""
        session.rows(f"SET GLOBAL {self.dialect.semi.enabled} = ON")
        statement = f"SHOW GLOBAL STATUS LIKE '{self.dialect.semi.replicas}'"

        def missing() -> Mapping[str, str]:
            there = int(only_row(session.rows(statement), statement)["Value"])
            return (
                {"a replica": f"{there} of {replicas} confirm commits"} if there < replicas else {}
            )

        await_all(missing, _JOIN_LIMIT_S)


def _row_of(member: Member, statement: str) -> Mapping[str, Any]:
    """The only row of a statement's result, by a session of its own."""
    session = asked(member)
    try:
        return only_row(session.rows(statement), statement)
    finally:
        session.close()
