"""How a MySQL or MariaDB replica takes the place of its primary, which comes back as its replica.

A former primary follows from where it was if the new one has all of its transactions. Otherwise its
data have parted from the others', and it begins anew: every member's binary log goes back to the
same empty tables, so that an empty server gets all from the new primary.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import cast

from dbdyno.errors import ServerError
from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mysql.dialect import (
    Dialect,
    await_applied,
    follow,
    row_of,
    settle,
)
from dbdyno.servers.databases.mysql.server import MysqlServer
from dbdyno.servers.protocol import Member, Server
from dbdyno.servers.replication import await_all

_SYNCING = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
"""Settings of a server that need not survive a crash: it would begin anew."""

_NUMBERS = 100
"""More than members of a topology: by that much a server's next number is higher."""


class MysqlMember(MysqlServer):
    """One of several, which may lose its data and begin as an empty server."""

    def begin_anew(self, limit_s: float) -> None:
        """Starts it, which has ended, with a new data folder, its port and its accounts; under
        another number, since a replica leaves out what was written under its own."""
        self._session.close()
        shutil.rmtree(self._data)
        self._has_accounts = False
        self._configure()
        self._initialise()
        self._asked["server_id"] = str(int(self._asked["server_id"]) + _NUMBERS)
        self._serve(limit_s)


@dataclass(frozen=True, slots=True)
class GtidPromoter:
    """Of servers that replicate by GTID."""

    dialect: Dialect

    def end(self, primary: Member, replicas: Sequence[Member], limit_s: float) -> None:
        """Ends its writes first: a shutdown alone does not wait for replicas."""
        words, node = self.dialect.promoting, primary.server.node
        if not words.then_settles:
            # What is written from here on, the shutdown itself waits for.
            settle(self.dialect, [primary, *replicas], limit_s)
        with closing(primary.server.database.inside()) as session:
            session.rows(words.hand_over)
        if words.then_settles:
            settle(self.dialect, [primary, *replicas], limit_s)
        else:
            # A signal to stop would cut its wait short.
            await_all(
                lambda: {primary.name: "it still sends its log"} if node.alive() else {}, limit_s
            )
        node.stop()

    def promote(self, members: Sequence[Member], limit_s: float) -> Member:
        """The one with the most transactions, once each has applied what it has received."""
        words = self.dialect.promoting
        others = [member for member in members[1:] if member.server.alive()]
        if not others:
            raise ServerError("no replica is left that could be promoted")
        received = {member: self._received(member, limit_s) for member in others}
        await_applied(self.dialect, received, limit_s)
        has = {member: row_of(member, self.dialect.position)["position"] for member in others}
        chosen = max(others, key=lambda member: words.transactions(has[member]))
        with closing(chosen.server.database.inside()) as session:
            for statement in (self.dialect.stop, words.forget, "SET GLOBAL read_only = OFF"):
                session.rows(statement)
        for other in others:
            if other is not chosen:
                with closing(other.server.database.inside()) as session:
                    follow(self.dialect, session, chosen.server)
        return chosen

    def follow_anew(self, member: Member, primary: Server, limit_s: float) -> None:
        """Waits until it has all that the primary has at that time."""
        words, server = self.dialect.promoting, cast("MysqlMember", member.server)
        server.restart(limit_s)
        had = row_of(member, words.had)["had"]
        with closing(primary.database.inside()) as session:
            parted = not words.holds(session, had)
        if parted:
            server.drop()
            server.begin_anew(limit_s)
        with closing(server.inside()) as session, _without_syncing(session):
            for statement in (*((self.dialect.new_log,) if parted else ()), *words.begin_at):
                session.rows(statement)
            follow(self.dialect, session, primary)
            settle(self.dialect, [Member("primary", "primary", primary), member], limit_s)

    def _received(self, member: Member, limit_s: float) -> str:
        """What a replica has of its primary, which has ended, once all is read that it had sent."""
        status = self.dialect.status

        def reading() -> Mapping[str, str]:
            running = row_of(member, status.statement)[status.io_running]
            return {member.name: "it still reads the primary's log"} if running == "Yes" else {}

        await_all(reading, limit_s)
        with closing(member.server.database.inside()) as session:
            session.rows(self.dialect.promoting.stop_receiving)
        return str(row_of(member, status.statement)[self.dialect.promoting.received])


@contextmanager
def _without_syncing(session: Session) -> Iterator[None]:
    """A server that catches up writes each transaction without waiting for the disk."""
    listed = ", ".join(f"@@GLOBAL.{name} AS {name}" for name in _SYNCING)
    asked = f"SELECT {listed}"
    before = only_row(session.rows(asked), asked)
    try:
        _set(session, _SYNCING)
        yield
    finally:
        _set(session, before)


def _set(session: Session, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        session.rows(f"SET GLOBAL {name} = {value}")
