"""MariaDB's replication by GTID: every member begins with the same empty tables and a new binary
log; semi-synchronous where commits wait until one replica has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.errors import ServerError
from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.brand import release_numbers
from dbdyno.servers.databases.mysql.server import MysqlServer
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec
from dbdyno.servers.replication import Confirmed, await_all

_JOIN_LIMIT_S = 60.0
_WAITS_MS = 600_000
"""How long a commit waits for a replica before it goes on without: longer than a run bears, so that
no run becomes asynchronous without a word."""
_SEMI = "semi-synchronous"
_SEMI_SINCE = (10, 3)


class MariadbReplication:
    """By GTID; replicas are read-only, but for the lab's role."""

    modes: ClassVar[Sequence[str]] = ("asynchronous", _SEMI)
    most_confirming: ClassVar[int | None] = 1
    reserved: ClassVar[frozenset[str]] = frozenset({"gtid_slave_pos", "server_id"})

    def refuses(self, provision: Provision, mode: str) -> str | None:
        """GTIDs came with 10.0; semi-synchronous replication is built in from 10.3."""
        release = release_numbers(provision.version or "")
        if mode == _SEMI and release and release < _SEMI_SINCE:
            since = ".".join(map(str, _SEMI_SINCE))
            return f"`{_SEMI}` takes MariaDB {since} or newer; this is {provision.version}"
        return None

    def settings(self, confirmed: Confirmed, role: str, number: int) -> Mapping[str, str]:
        """A binary log by rows; a relay log on replicas."""
        own = {
            "server_id": str(number),
            "log_bin": "binlog",
            "binlog_format": "ROW",
            "log_slave_updates": "ON",
            "gtid_strict_mode": "ON",
            "relay_log": "relaylog",
        }
        if confirmed.mode == _SEMI:
            own["rpl_semi_sync_slave_enabled"] = "ON"
            own["rpl_semi_sync_master_timeout"] = str(_WAITS_MS)
        return own

    def open_replica(self, spec: ServerSpec, folder: Path, name: str, primary: Server) -> Server:
        """Makes a server like its primary; `join` makes it a replica."""
        return MysqlServer(BRAND, spec, folder)

    def join(self, members: Sequence[Member], confirmed: Confirmed, *, new: bool) -> None:
        """A new log begins where all members have the same tables: none replays how they were
        made."""
        primary, replicas = members[0], members[1:]
        sessions = {member.name: member.server.database.inside() for member in members}
        try:
            if new:
                for session in sessions.values():
                    session.rows("RESET MASTER")
            for replica in replicas:
                _follow(sessions[replica.name], primary.server)
            followers = {replica.name: sessions[replica.name] for replica in replicas}
            await_all(lambda: _not_running(followers), _JOIN_LIMIT_S)
            if confirmed.mode == _SEMI:
                _wait_for_replicas(sessions[primary.name], len(replicas))
        finally:
            for session in sessions.values():
                session.close()

    def settle(self, members: Sequence[Member], limit_s: float) -> None:
        """Waits until each replica has applied the log up to the primary's present GTID."""
        row = _row(members[0], "SELECT @@GLOBAL.gtid_binlog_pos AS position")
        statement = f"SELECT MASTER_GTID_WAIT('{row['position']}', {limit_s:.3f}) AS late"
        for replica in members[1:]:
            if _row(replica, statement)["late"] != 0:
                raise ServerError(
                    f"{replica.name} is still behind the primary after {limit_s:.0f} s"
                )


def _row(member: Member, statement: str) -> Mapping[str, Any]:
    session = member.server.database.inside()
    try:
        return only_row(session.rows(statement), statement)
    finally:
        session.close()


def _follow(session: Session, primary: Server) -> None:
    """Has a replica follow the primary where it listens now."""
    target: Mapping[str, Any] = primary.entry.target("tcp")
    place = target["endpoints"][0]["tcp"]
    for statement in (
        "STOP SLAVE",
        f"CHANGE MASTER TO MASTER_HOST = '{place['host']}', MASTER_PORT = {place['port']},"
        f" MASTER_USER = '{target['user']}', MASTER_PASSWORD = '{target['password']}',"
        " MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
        "START SLAVE",
        "SET GLOBAL read_only = ON",
    ):
        session.rows(statement)


def _not_running(followers: Mapping[str, Session]) -> Mapping[str, str]:
    """Replica → why it does not follow, of those that don't."""
    left: dict[str, str] = {}
    for name, session in followers.items():
        (row,) = session.rows("SHOW SLAVE STATUS") or ({},)
        running = (row.get("Slave_IO_Running"), row.get("Slave_SQL_Running"))
        if running != ("Yes", "Yes"):
            why = row.get("Last_IO_Error") or row.get("Last_SQL_Error") or row.get("Slave_IO_State")
            left[name] = str(why or "it has not begun")
    return left


def _wait_for_replicas(session: Session, replicas: int) -> None:
    """Makes commits wait from now on; returns once all replicas confirm them."""
    session.rows("SET GLOBAL rpl_semi_sync_master_enabled = ON")
    statement = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_clients'"

    def missing() -> Mapping[str, str]:
        there = int(only_row(session.rows(statement), statement)["Value"])
        return {"a replica": f"{there} of {replicas} confirm commits"} if there < replicas else {}

    await_all(missing, _JOIN_LIMIT_S)


REPLICATION = MariadbReplication()
