"""PostgreSQL under Patroni: nodes that agree by etcd which of them is the primary; when it dies,
another takes its place without being asked to. Clients connect to the first node, or to HAProxy,
which asks Patroni where the primary is.
"""

from __future__ import annotations

import select
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dbdyno.errors import ServerError
from dbdyno.model.patroni import LOOP_WAIT_S, RETRY_TIMEOUT_S, TTL_S, bound_s
from dbdyno.servers.databases.postgresql.patroni import PATRONI, RESERVED, Cluster, PatroniNode
from dbdyno.servers.databases.postgresql.replication import REPLICATION
from dbdyno.servers.nodes.etcd import ETCD, Etcd
from dbdyno.servers.protocol import (
    Database,
    Member,
    Members,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.replication import await_all
from dbdyno.servers.sources.packaged import printed_by
from dbdyno.servers.topologies.several import (
    NODE,
    NodesTable,
    Several,
    named,
    refuse_settings,
    spec_of,
)
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_JOIN_LIMIT_S = 180.0
_LOOK_LIMIT_S = 60.0
_POLL_S = 0.05
_STREAMING = "SELECT application_name AS name, state, sync_state FROM pg_stat_replication"
Whole = Annotated[int, Field(le=3600)]


class Keys(NodesTable):
    """Times are Patroni's own, in seconds, with its defaults and lower limits."""

    replication: Literal["asynchronous", "synchronous"] = "asynchronous"
    ttl: Annotated[Whole, Field(ge=20)] = TTL_S
    """How long a primary that says nothing keeps its lead."""
    loop_wait: Annotated[Whole, Field(ge=1)] = LOOP_WAIT_S
    """Between two looks of each Patroni."""
    retry_timeout: Annotated[Whole, Field(ge=3)] = RETRY_TIMEOUT_S
    """How long Patroni tries again before it takes etcd or PostgreSQL for lost."""

    def timing_s(self) -> Mapping[str, int]:
        """As Patroni has them."""
        names = ("ttl", "loop_wait", "retry_timeout")
        return {name: getattr(self, name) for name in names}


class Patroni(Several):
    """Ready when there is a primary, and every other node streams from it. Its first member is the
    primary: after a change of places another than at first."""

    def __init__(self, nodes: Mapping[str, PatroniNode], keys: Keys, etcd: Etcd) -> None:
        super().__init__(TOPOLOGY.name, [Member(name, NODE, node) for name, node in nodes.items()])
        self._nodes = nodes
        self._keys = keys
        self._etcd = etcd
        self._left: str | None = None
        """The primary that was asked to give up its place."""
        self._has_joined = False

    @property
    def database(self) -> Database:
        """That of the primary, whichever node that is now."""
        if self._has_joined:
            self._look(_LOOK_LIMIT_S)
        return super().database

    @property
    def members(self) -> Members:
        """The primary first, as of when it was looked for last."""
        return replace(
            super().members,
            promotion=self,
            alike=True,
            supervisor=self,
            exposed={ETCD: [self._etcd.place]},
        )

    def start(self) -> None:
        """Starts etcd before the nodes."""
        self._etcd.start()
        cluster = Cluster(
            self._etcd.place, self._keys.timing_s(), self._keys.replication == "synchronous"
        )
        for node in self._nodes.values():
            node.cluster = cluster
        super().start()

    def health_check(self, member: str) -> tuple[int, str]:
        """Where HAProxy asks whether a member is the primary."""
        return self._nodes[member].health_check()

    def kill_server(self, member: str) -> None:
        """Kills a member's PostgreSQL; its Patroni goes on, and starts it again."""
        self._nodes[member].kill_server()

    def end(self, limit_s: float) -> None:
        """Asks for a change of places: the primary stops in order once another has all it has."""
        self._left = self._look(limit_s)
        self._nodes[self._left].switch_over()

    def promote(self, limit_s: float) -> Member:
        """Waits for the primary that the nodes choose in place of the one before."""
        self._look(max(limit_s, 2 * bound_s(self._keys.timing_s())), other_than=self._left)
        self._left = None
        return self._first

    def rejoin(self, member: Member, limit_s: float) -> None:
        """Starts a former primary if it has ended; returns when it streams."""
        if not member.server.alive():
            named(member, lambda: member.server.node.restart(limit_s))
        self._join(new=False)

    def facts(self) -> Mapping[str, object]:
        """Also the releases of Patroni and etcd, and how long a change of primary may take."""
        facts = dict(super().facts())
        topology = facts["topology"]
        assert isinstance(topology, Mapping)
        return {
            **facts,
            "topology": {
                **topology,
                "patroni": _printed(PATRONI),
                "etcd": _printed(ETCD),
                "without_primary_s": bound_s(self._keys.timing_s()),
            },
        }

    def alive(self) -> bool:
        """Whether etcd runs, too."""
        return self._etcd.alive() and super().alive()

    def check(self) -> None:
        """Raises if a member or etcd has ended."""
        self._etcd.check()
        super().check()

    def log_files(self) -> Sequence[Path]:
        """Logs of all members, and etcd's."""
        return [*super().log_files(), *self._etcd.log_files()]

    def stop(self) -> None:
        """The nodes before etcd, without which they would not know that they may stop."""
        super().stop()
        self._etcd.stop()

    def close(self) -> None:
        """Removes all, etcd last."""
        try:
            super().close()
        finally:
            self._etcd.close()

    def _join(self, *, new: bool) -> None:
        """Waits until the primary has a stream to each of the others."""
        others = len(self._nodes) - 1
        mode = "sync" if self._keys.replication == "synchronous" else None
        self._has_joined = True

        def waiting() -> Mapping[str, str]:
            primary = self._look(_JOIN_LIMIT_S)
            with closing(self._nodes[primary].inside()) as session:
                rows = session.rows(_STREAMING)
            streaming = {row["name"] for row in rows if row["state"] == "streaming"}
            if mode and mode not in [row["sync_state"] for row in rows]:
                return {primary: "no commit waits for another node yet"}
            if len(streaming) >= others:
                return {}
            late = self._nodes.keys() - streaming - {primary}
            return dict.fromkeys(sorted(late), "it does not stream from the primary")

        await_all(waiting, _JOIN_LIMIT_S)

    def _settle(self, limit_s: float) -> None:
        """Waits until each has replayed what the primary has now."""
        self._look(limit_s)
        REPLICATION.settle(self._members, limit_s)

    def _look(self, limit_s: float, *, other_than: str | None = None) -> str:
        """Puts the node that takes writes first; its name. Raises `ServerError` if there is none
        within `limit_s`."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            for member in self._members:
                node = self._nodes[member.name]
                if member.name != other_than and node.alive() and node.is_primary():
                    others = [other for other in self._members if other.name != member.name]
                    self._members = (member, *others)
                    return member.name
            self._etcd.check()
            if not any(node.alive() for node in self._nodes.values()):
                raise ServerError("no node of the cluster runs")
            select.select([], [], [], _POLL_S)
        raise ServerError(
            f"the cluster has no {'other ' if other_than else ''}primary after {limit_s:.0f} s",
            hint="the nodes' logs say what Patroni waits for",
        )


def _printed(program: str) -> str:
    path = shutil.which(program)
    printed = printed_by(Path(path), "--version") if path else None
    return (printed or "").partition("\n")[0].strip()


def _members(spec: ServerSpec, keys: Keys, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec, {})


def _open(spec: ServerSpec, keys: Keys, openers: Openers, folder: Path) -> Server:
    refuse_settings(spec, keys, frozenset(RESERVED))
    nodes: list[PatroniNode] = []
    by_name = {
        planned.name: PatroniNode(
            spec_of(spec, planned), folder / planned.name, planned.name, nodes
        )
        for planned in _members(spec, keys, openers)
    }
    return Patroni(by_name, keys, Etcd(folder / ETCD, spec.launch))


def _refuses(provision: Provision, keys: Keys, _openers: Openers) -> str | None:
    if provision.kind != "postgresql":
        return f"its nodes are PostgreSQL, not `{provision.kind}`"
    if provision.source is Source.URL:
        return "a server by URL is somebody else's, and Patroni does not get it"
    if keys.loop_wait + 2 * keys.retry_timeout > keys.ttl:
        return (
            f"`loop_wait` and twice `retry_timeout` together may be `ttl` at most; "
            f"{keys.loop_wait} + 2 × {keys.retry_timeout} is more than {keys.ttl}"
        )
    if wrong := keys.unknown_role(NODE) or REPLICATION.refuses(provision, keys.replication):
        return wrong
    packages = {PATRONI: "patroni", ETCD: "etcd-server"}
    lacking = [package for program, package in packages.items() if shutil.which(program) is None]
    return f"`apt-get install {' '.join(lacking)}` first" if lacking else None


TOPOLOGY = Topology(
    "patroni", _open, keys=Keys, members=_members, refuses=_refuses, is_supervised=True
)
