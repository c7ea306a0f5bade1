"""Replication by GTID of MySQL and MariaDB, which differ in statements and names: every member
begins with the same empty tables and a new binary log; semi-synchronous where commits wait for
replicas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mysql.brand import release_numbers
from dbdyno.servers.databases.mysql.dialect import Dialect, follow, settle
from dbdyno.servers.databases.mysql.promotion import GtidPromoter, MysqlMember
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec
from dbdyno.servers.replication import Confirmed, Promoter, await_all

_JOIN_LIMIT_S = 60.0
_WAITS_MS = 600_000
"""How long a commit waits for a replica before it goes on without: so long that no
run becomes asynchronous unnoticed."""
ASYNCHRONOUS, SEMI = "asynchronous", "semi-synchronous"


@dataclass(frozen=True, slots=True)
class GtidReplication:
    """Replicas are read-only, except for dbdyno's own role."""

    dialect: Dialect
    reserved: frozenset[str]
    most_confirming: int | None
    modes: Sequence[str] = field(default=(ASYNCHRONOUS, SEMI))

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

    @property
    def promoter(self) -> Promoter:
        """By the same GTIDs."""
        return GtidPromoter(self.dialect)

    def open_member(
        self, spec: ServerSpec, folder: Path, name: str, primary: Server | None
    ) -> Server:
        """Makes a server, of a replica with its primary's password; `join` makes it a replica."""
        server = MysqlMember(self.dialect.brand, spec, folder)
        if isinstance(primary, MysqlMember):
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
                follow(self.dialect, sessions[replica.name], primary.server)
            followers = {replica.name: sessions[replica.name] for replica in replicas}
            await_all(lambda: self._not_running(followers), _JOIN_LIMIT_S)
            if confirmed.mode == SEMI:
                self._wait_for_replicas(sessions[primary.name], len(replicas))
        finally:
            for session in sessions.values():
                session.close()

    def settle(self, members: Sequence[Member], limit_s: float) -> None:
        """Waits until each replica has applied the log up to the primary's present GTID."""
        settle(self.dialect, members, limit_s)

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
