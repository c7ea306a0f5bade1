"""PostgreSQL's streaming replication, from version 12: with a slot for each replica, which keeps
the log until the replica has it; synchronous by `synchronous_standby_names`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import ClassVar, cast

from dbdyno.errors import ServerError
from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.postgresql.replica import PostgresqlMember
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec
from dbdyno.servers.replication import Confirmed, Promoter, asked, await_all

_FIRST = 12
"""The first version whose replicas are set up by settings and a file `standby.signal`."""
_JOIN_LIMIT_S = 60.0
_STATES = "SELECT application_name AS name, state, sync_state FROM pg_stat_replication"
_NOW = "SELECT pg_current_wal_lsn()::text AS position"
_BEHIND = """
    SELECT greatest(pg_wal_lsn_diff('{}', pg_last_wal_replay_lsn()), 0)::bigint AS bytes"""
_RECEIVED = "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint AS bytes"


class PostgresqlReplication:
    """By streaming; replicas begin as copies."""

    modes: ClassVar[Sequence[str]] = ("asynchronous", "synchronous")
    most_confirming: ClassVar[int | None] = None
    reserved: ClassVar[frozenset[str]] = frozenset(
        {"primary_conninfo", "primary_slot_name", "synchronous_standby_names"}
    )

    def refuses(self, provision: Provision, mode: str) -> str | None:
        """Only the version matters."""
        major = re.match(r"\d+", provision.version or "")
        if major and int(major[0]) < _FIRST:
            return f"it takes PostgreSQL {_FIRST} or newer; this is {provision.version}"
        return None

    def settings(self, confirmed: Confirmed, role: str, number: int) -> Mapping[str, str]:
        """None: PostgreSQL's defaults allow for replicas."""
        return {}

    @property
    def promoter(self) -> Promoter:
        """Its own methods."""
        return self

    def open_member(
        self, spec: ServerSpec, folder: Path, name: str, primary: Server | None
    ) -> Server:
        """The primary, or a copy that streams."""
        return PostgresqlMember(spec, folder, name, primary)

    def join(self, members: Sequence[Member], confirmed: Confirmed, *, new: bool) -> None:
        """Waits until all stream; only then may a commit wait for them."""
        primary, names = members[0].server, [member.name for member in members[1:]]
        session = primary.database.inside()

        def waiting(column: str, wanted: Sequence[str], enough: int) -> Mapping[str, str]:
            states = {row["name"]: str(row[column]) for row in session.rows(_STATES)}
            there = [name for name in names if states.get(name) in wanted]
            if len(there) >= enough:
                return {}
            return {name: states.get(name, "not connected") for name in names if name not in there}

        try:
            await_all(lambda: waiting("state", ("streaming",), len(names)), _JOIN_LIMIT_S)
            if confirmed.mode == "synchronous":
                listed = ", ".join(f'"{name}"' for name in names)
                wanted = f"FIRST {confirmed.replicas} ({listed})"
                session.rows(f"ALTER SYSTEM SET synchronous_standby_names = '{wanted}'")
                session.rows("SELECT pg_reload_conf()")
                number = confirmed.replicas
                await_all(lambda: waiting("sync_state", ("sync",), number), _JOIN_LIMIT_S)
        finally:
            session.close()

    def end(self, primary: Member, replicas: Sequence[Member], limit_s: float) -> None:
        """An orderly stop waits until its replicas have received all."""
        primary.server.node.stop()

    def promote(self, members: Sequence[Member], limit_s: float) -> Member:
        """The one that has received most; until replicas have joined it, no commit waits."""
        others = [member for member in members[1:] if member.server.alive()]
        if not others:
            raise ServerError("no replica is left that could be promoted")
        received = {member.name: _received(member) for member in others}
        chosen = max(others, key=lambda member: received[member.name])
        _member(chosen).promote(limit_s)
        for other in others:
            if other is not chosen:
                _member(other).follow(chosen.server, limit_s)
        return chosen

    def follow_anew(self, member: Member, primary: Server, limit_s: float) -> None:
        """It begins as a new copy."""
        _member(member).copy_anew(primary, limit_s)

    def settle(self, members: Sequence[Member], limit_s: float) -> None:
        """Waits until each replica has replayed the log up to the primary's present position."""
        with closing(asked(members[0])) as primary:
            statement = _BEHIND.format(only_row(primary.rows(_NOW), _NOW)["position"])
        with ExitStack() as stack:
            sessions = {
                replica.name: stack.enter_context(closing(asked(replica)))
                for replica in members[1:]
            }

            def waiting() -> Mapping[str, str]:
                states = {name: _place(session, statement) for name, session in sessions.items()}
                return {name: state for name, state in states.items() if state}

            await_all(waiting, limit_s)


def _place(replica: Session, statement: str) -> str:
    """Where a replica is, for people; empty: where it should be."""
    try:
        behind = only_row(replica.rows(statement), statement)["bytes"]
    except ServerError as error:
        return error.message
    if behind is None:
        return "it is no replica"
    return f"{behind} bytes behind" if behind else ""


def _member(member: Member) -> PostgresqlMember:
    return cast("PostgresqlMember", member.server)


def _received(member: Member) -> int:
    """Bytes of the log that a replica has."""
    with closing(asked(member)) as session:
        return int(only_row(session.rows(_RECEIVED), _RECEIVED)["bytes"])


REPLICATION = PostgresqlReplication()
