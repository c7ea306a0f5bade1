"""How a kind of database keeps replicas: all that the topology `primary-replicas` needs to know of
it."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbdyno.errors import ServerError
from dbdyno.model.session import Session
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Confirmed:
    """When a commit returns to its client."""

    mode: str
    """`asynchronous`: once the primary has it; others: once replicas have it, too."""
    replicas: int = 1
    """How many of them, unless asynchronous."""


class Replication(Protocol):
    """How one kind of database replicates; implementations keep no state between calls."""

    @property
    def modes(self) -> Sequence[str]:
        """Values of `Confirmed.mode`; the first is the default."""

    @property
    def most_confirming(self) -> int | None:
        """Replicas that a commit can wait for; `None`: any number."""

    @property
    def reserved(self) -> frozenset[str]:
        """Settings that dbdyno makes itself."""

    def refuses(self, provision: Provision, mode: str) -> str | None:
        """Why such servers can't replicate in one of the `modes`; `None` if they can."""

    def settings(self, confirmed: Confirmed, role: str, number: int) -> Mapping[str, str]:
        """Settings of the member with that number, from 1; those of the study win."""

    @property
    def promoter(self) -> Promoter:
        """How a replica takes the place of the primary."""

    def open_member(
        self, spec: ServerSpec, folder: Path, name: str, primary: Server | None
    ) -> Server:
        """Makes a member, not yet started: the primary, or a replica, whose `primary` is started
        before it."""

    def join(self, members: Sequence[Member], confirmed: Confirmed, *, new: bool) -> None:
        """Returns when every replica follows the primary, the first of `members`, and commits wait
        as they should. `new`: nothing has been loaded yet; otherwise all have been started again.

        # Errors
        `ServerError` names the member that does not follow.
        """

    def settle(self, members: Sequence[Member], limit_s: float) -> None:
        """Returns when every replica has what the primary has now."""


def asked(member: Member) -> Session:
    """A session with a member, whoever runs it; the caller closes it.

    # Errors
    `ServerError` if there is nobody to ask.
    """
    session = member.server.database.ask()
    if session is None:
        raise ServerError(f"{member.name} can't be asked how far it is")
    return session


class Promoter(Protocol):
    """How one kind of database has servers change places. Methods raise `ServerError`."""

    def end(self, primary: Member, replicas: Sequence[Member], limit_s: float) -> None:
        """Ends a primary in order, so that its replicas get all that it has."""

    def promote(self, members: Sequence[Member], limit_s: float) -> Member:
        """Makes the replica that has most a primary, which takes writes then, and has the other
        replicas follow it. The first of `members`, the primary before, has ended."""

    def follow_anew(self, member: Member, primary: Server, limit_s: float) -> None:
        """Starts a member, which has ended, as a replica with the data of this primary; what it
        alone had is gone."""


def await_all(waiting: Callable[[], Mapping[str, str]], limit_s: float) -> None:
    """Polls until `waiting`, member → how far it is, has no member left.

    # Errors
    `ServerError` after `limit_s`, with the first member and how far it is.
    """
    deadline = time.monotonic() + limit_s
    while left := waiting():
        if time.monotonic() > deadline:
            name, state = next(iter(left.items()))
            raise ServerError(f"waited {limit_s:.0f} s in vain for {name}: {state}")
        select.select([], [], [], _POLL_S)
