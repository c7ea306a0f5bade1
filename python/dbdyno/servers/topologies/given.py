"""Servers that somebody else runs, each named by its URL: looked at and loaded, never started,
stopped or altered. How they are joined is their owner's matter.

Clients connect where `provision` says, to a member or to the proxy before them; tables are loaded
into the first member.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from dbdyno.errors import ServerError
from dbdyno.formats.load_schema import Name, Table
from dbdyno.model.study import BY_URL
from dbdyno.servers.protocol import (
    Capacity,
    Entry,
    Member,
    Provision,
    Server,
    ServerSpec,
    Source,
    Transport,
)
from dbdyno.servers.replication import Replication
from dbdyno.servers.topologies.several import Several
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_REPLICA = "replica"
"""The role of members that are waited for before rows are compared."""


def _url(text: str) -> str:
    if not text.startswith(BY_URL):
        message = "a member is named like a server by URL: `url:postgresql://user@host/database`"
        raise ValueError(message)
    return text


class Keys(Table):
    """`members` has the first member first."""

    members: Annotated[
        dict[Name, Annotated[str, AfterValidator(_url)]], Field(min_length=1, max_length=32)
    ]
    """Name → provision text."""


@dataclass(frozen=True, slots=True)
class GivenEntry:
    """Where clients connect, and where tables are loaded."""

    clients: Entry
    first: Entry

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """As the URL of `provision` says."""
        return self.clients.target(transport)

    def fill_target(self) -> Mapping[str, object]:
        """The first member."""
        return self.first.target()

    def capacity(self) -> Capacity:
        """Of the server that answers the clients."""
        return self.clients.capacity()

    def proxies(self) -> Sequence[int]:
        """A proxy of the cluster isn't ours, and not sampled."""
        return ()


class Given(Several):
    """Its members run before and after."""

    def __init__(
        self, members: Sequence[Member], front: Server, replication: Replication | None
    ) -> None:
        """`front`: the server that clients connect to, a member or not; `replication`: how replicas
        are waited for, where their kind has any."""
        super().__init__(TOPOLOGY.name, members)
        self._front = front
        self._replication = replication

    @property
    def entry(self) -> Entry:
        """Clients connect where `provision` says."""
        return GivenEntry(self._front.entry, self._first.server.entry)

    def start(self) -> None:
        """Connects to each."""
        super().start()
        self._front.start()

    def _join(self, *, new: bool) -> None:
        """They are joined as their owner has them."""

    def _settle(self, limit_s: float) -> None:
        replicas = [member for member in self._members[1:] if member.role == _REPLICA]
        if self._replication is not None and replicas:
            self._replication.settle([self._first, *replicas], limit_s)

    def stop(self) -> None:
        """Disconnects; the servers go on."""
        super().stop()
        self._front.stop()

    def close(self) -> None:
        """Disconnects, whatever goes wrong with one."""
        try:
            super().close()
        finally:
            self._front.close()


def _role(name: str) -> str:
    """`replica` of `replica-2`."""
    return re.sub(r"-\d+$", "", name)


def _members(_spec: ServerSpec, keys: Keys, _openers: Openers) -> Sequence[PlannedMember]:
    return [PlannedMember(name, _role(name), {}, is_ours=False) for name in keys.members]


def _open(spec: ServerSpec, keys: Keys, openers: Openers, folder: Path) -> Server:
    members = []
    for name, text in keys.members.items():
        own = replace(spec, provision=openers.provision(text))
        members.append(Member(name, _role(name), openers.server(own, folder / name)))
    replication = openers.kind(spec.provision.kind).replication
    return Given(members, openers.server(spec, folder), replication and replication())


def _refuses(provision: Provision, keys: Keys, openers: Openers) -> str | None:
    if provision.source is not Source.URL:
        return "its servers run already: `provision` is the URL where clients connect"
    for name, text in keys.members.items():
        try:
            member = openers.provision(text)
        except ServerError as error:
            return f"`members.{name}`: {error.message}"
        if member.kind != provision.kind:
            return f"`members.{name}` is `{member.kind}`, clients connect to `{provision.kind}`"
    texts = list(keys.members.values())
    twice = next((text for text in texts if texts.count(text) > 1), None)
    return twice and f"two members have the same URL: `{openers.provision(twice).text}`"


TOPOLOGY = Topology("given", _open, keys=Keys, members=_members, refuses=_refuses)
