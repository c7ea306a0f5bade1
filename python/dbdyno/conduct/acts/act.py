"""The interface of what faults do, one occurrence at a time."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dbdyno.errors import ServerError
from dbdyno.model.fault import Fault
from dbdyno.servers import Server
from dbdyno.servers.protocol import Member

LIMIT_S = 180.0
"""For a member to take statements again, seconds."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fault happens."""

    server: Server
    """The whole topology."""
    member: Member
    fault: Fault


@dataclass(frozen=True, slots=True)
class Begun:
    """What was done, by the monotonic clock."""

    at_ns: int = field(default_factory=time.monotonic_ns)
    """When clients could first notice."""
    promoted: str = ""
    """The member that took the place of the other."""
    promoted_ns: int | None = None
    """When it took writes."""


class Act(Protocol):
    """`end` is called once after `begin` has returned. Both raise `ServerError`."""

    def begin(self) -> Begun:
        """Does it to the member."""

    def end(self) -> None:
        """Takes it back; returns when the member takes statements again."""


def start_again(member: Member) -> None:
    """Starts a member that has ended; an error names it."""
    try:
        member.server.node.restart(LIMIT_S)
    except ServerError as error:
        raise not_back(member, error) from error


def come_back(member: Member) -> None:
    """Returns once a member takes statements; starts it if it has ended. An error names it."""
    deadline = time.monotonic() + LIMIT_S
    while member.server.alive():
        try:
            session = member.server.database.inside()
            try:
                session.rows("SELECT 1")
            finally:
                session.close()
        except ServerError as error:
            if time.monotonic() > deadline:
                raise not_back(member, error) from error
            select.select([], [], [], _POLL_S)
        else:
            return
    start_again(member)


def port_of(member: Member) -> int:
    """Where a member listens for TCP."""
    target: Mapping[str, Any] = member.server.entry.target("tcp")
    return int(target["endpoints"][0]["tcp"]["port"])


def not_back(member: Member, error: ServerError) -> ServerError:
    """The error of a member that can't be had again."""
    message = f"{member.name} did not come back after a fault: {error.message}"
    return ServerError(message, hint=error.hint)
