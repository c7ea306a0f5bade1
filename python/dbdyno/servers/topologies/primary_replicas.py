"""A primary, to which clients connect, and replicas that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno.servers.protocol import Member, Members, Provision, Server, ServerSpec, Source
from dbdyno.servers.replication import Confirmed, Promoter, Replication
from dbdyno.servers.topologies.several import (
    Count,
    MembersTable,
    Several,
    named,
    refuse_settings,
    spec_of,
)
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

PRIMARY, _REPLICA = "primary", "replica"


class Keys(MembersTable):
    """`replication` is one of the modes of the server's kind."""

    replicas: Count = 1
    replication: str = "asynchronous"
    confirmations: Count = 1
    """Replicas that a commit waits for, unless asynchronous."""

    def confirmed(self) -> Confirmed:
        """When a commit returns, as the kind's `Replication` takes it."""
        return Confirmed(self.replication, self.confirmations)


class PrimaryReplicas(Several):
    """Commits wait for replicas as asked, once all have joined. Its first member is the primary:
    after a promotion another than at first."""

    def __init__(self, members: Sequence[Member], replication: Replication, keys: Keys) -> None:
        super().__init__(TOPOLOGY.name, members)
        self._replication = replication
        self._confirmed = keys.confirmed()

    @property
    def members(self) -> Members:
        """The primary first."""
        return replace(super().members, promotion=self)

    @property
    def _promoter(self) -> Promoter:
        return self._replication.promoter

    def end(self, limit_s: float) -> None:
        """Ends the primary, whose replicas get all that it has."""
        primary, *replicas = self._members
        named(primary, lambda: self._promoter.end(primary, replicas, limit_s))

    def promote(self, limit_s: float) -> Member:
        """Promotes the replica that has most, and changes the roles."""
        chosen = self._promoter.promote(self._members, limit_s)
        others = [member for member in self._members if member.name != chosen.name]
        self._members = (
            replace(chosen, role=PRIMARY),
            *(replace(member, role=_REPLICA) for member in others),
        )
        return self._first

    def rejoin(self, member: Member, limit_s: float) -> None:
        """Has a former primary follow, and commits wait for it."""
        named(member, lambda: self._promoter.follow_anew(member, self._first.server, limit_s))
        self._join(new=False)

    def _join(self, *, new: bool) -> None:
        self._replication.join(self._members, self._confirmed, new=new)

    def _settle(self, limit_s: float) -> None:
        self._replication.settle(self._members, limit_s)


def _replication_of(provision: Provision, openers: Openers) -> Replication:
    found = openers.kind(provision.kind).replication
    assert found is not None, "kinds without replication are refused before"
    return found()


def _members(spec: ServerSpec, keys: Keys, openers: Openers) -> Sequence[PlannedMember]:
    replication, confirmed = _replication_of(spec.provision, openers), keys.confirmed()
    names = [(PRIMARY, PRIMARY)]
    names += [(f"{_REPLICA}-{number}", _REPLICA) for number in range(1, keys.replicas + 1)]
    return [
        PlannedMember(
            name,
            role,
            {
                **replication.settings(confirmed, role, number),
                **spec.settings,
                **keys.settings_of(role),
            },
            keys.host_of(role),
        )
        for number, (name, role) in enumerate(names, start=1)
    ]


def _open(spec: ServerSpec, keys: Keys, openers: Openers, folder: Path) -> Server:
    replication = _replication_of(spec.provision, openers)
    refuse_settings(spec, keys, replication.reserved)
    members: list[Member] = []
    for planned in _members(spec, keys, openers):
        own = spec_of(spec, planned)
        logs = folder / planned.name
        primary = members[0].server if members else None
        server = replication.open_member(own, logs, planned.name, primary)
        members.append(Member(planned.name, planned.role, server))
    return PrimaryReplicas(members, replication, keys)


def _refuses(provision: Provision, keys: Keys, openers: Openers) -> str | None:
    kind = openers.kind(provision.kind)
    if kind.replication is None:
        return f"no way is known here to make replicas of `{provision.kind}`"
    if provision.source is Source.URL:
        return "a server by URL is somebody else's, and gets no replicas"
    replication = kind.replication()
    if keys.replication not in replication.modes:
        known = ", ".join(f"`{mode}`" for mode in replication.modes)
        return f"`replication` of `{provision.kind}` is one of {known}, not `{keys.replication}`"
    most = min(keys.replicas, replication.most_confirming or keys.replicas)
    if keys.confirmations > most:
        return f"`confirmations` can be {most} at most here, not {keys.confirmations}"
    return keys.unknown_role(PRIMARY, _REPLICA) or replication.refuses(provision, keys.replication)


TOPOLOGY = Topology("primary-replicas", _open, keys=Keys, members=_members, refuses=_refuses)
