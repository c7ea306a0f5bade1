"""A cluster of Valkey or Redis: nodes that share the keys by their slots, without replicas.

Clients know all nodes and send each command to the one that has its key; a node that does not have
it says which one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents, checksum_of
from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.server import RedisServer
from dbdyno.servers.databases.redis.session import Word
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.protocol import (
    Capacity,
    Member,
    Provision,
    Server,
    ServerSpec,
    Source,
    Transport,
)
from dbdyno.servers.replication import await_all
from dbdyno.servers.topologies.several import NODE, NodesTable, Several, refuse_settings, spec_of
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

SLOTS = 16384
"""Of every cluster."""
_BRANDS = {"redis": Brand("redis", "Redis"), "valkey": Brand("valkey", "Valkey")}
_FEWEST = 3
_FIRST = 7
"""The first version whose port for other nodes can be chosen."""
_JOIN_LIMIT_S = 60.0
_RESERVED = frozenset(
    {
        "cluster_announce_bus_port",
        "cluster_announce_ip",
        "cluster_announce_port",
        "cluster_announce_tls_port",
        "cluster_config_file",
        "cluster_enabled",
        "cluster_port",
        "replicaof",
    }
)


class ClusterNode(RedisServer):
    """A node. All nodes have the password of the first, since clients enter all of them."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(_BRANDS[spec.provision.kind], spec, folder)
        self._bus = 0

    def _configure(self) -> None:
        """Other nodes reach it on a port of their own."""
        super()._configure()
        self._bus = self._bus or free_port()
        own = {
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-announce-ip": self._address,
            "cluster-port": str(self._bus),
        }
        lines = [f"{name} {value}\n" for name, value in own.items()]
        text = self._configuration.read_text()
        self._daemon.write_private(self._configuration, text + "".join(lines))

    @property
    def place(self) -> tuple[str, int, int]:
        """Where other nodes find it: address, port and the port for nodes."""
        return self._address, self._port, self._bus

    def cluster(self, *words: Word) -> str:
        """The reply to a CLUSTER command whose reply is a text."""
        reply = self._session.command("CLUSTER", *words)
        assert isinstance(reply, bytes), "a text"
        return reply.decode()


class ClusterDatabase:
    """All keys of the cluster, whichever node has them; what is common to nodes is the first's."""

    def __init__(self, nodes: Sequence[ClusterNode]) -> None:
        self._nodes = nodes

    def facts(self) -> Mapping[str, object]:
        return self._nodes[0].facts()

    def settings(self) -> Mapping[str, str]:
        return self._nodes[0].settings()

    def counters(self) -> Mapping[str, int]:
        """Each counter of all nodes together."""
        total: dict[str, int] = {}
        for node in self._nodes:
            for name, value in node.counters().items():
                total[name] = total.get(name, 0) + value
        return total

    def size_bytes(self) -> int:
        """Memory of the data of all nodes."""
        return sum(node.size_bytes() for node in self._nodes)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Of all nodes: the sum of their rows' digests is that of the whole."""
        parts = [node.contents(table, checksum=checksum) for node in self._nodes]
        digests = [int(part.checksum, 16) for part in parts if part.checksum is not None]
        return Contents(
            sum(part.rows for part in parts), checksum_of(sum(digests)) if checksum else None
        )

    def tables(self) -> Mapping[str, str]:
        """A cluster has one database."""
        return {name: text for node in self._nodes for name, text in node.tables().items()}

    def table_files(self, table: str) -> Sequence[Path]:
        """None: the data are in memory."""
        return ()

    def inside(self) -> Session:
        """With the first node."""
        return self._nodes[0].inside()

    def ask(self) -> SampledSession | None:
        """With the first node."""
        return self._nodes[0].ask()


class ClusterEntry:
    """Clients may enter at any node."""

    def __init__(self, nodes: Sequence[ClusterNode]) -> None:
        self._nodes = nodes

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The addresses of all nodes; they name one another by TCP only."""
        if transport == "unix":
            raise ServerError(
                "the nodes of a cluster send clients on by TCP", hint='take `transport = "tcp"`'
            )
        targets: list[Mapping[str, Any]] = [node.target("tcp") for node in self._nodes]
        places = [place for target in targets for place in target["endpoints"]]
        return {**targets[0], "endpoints": places}

    def fill_target(self) -> Mapping[str, object]:
        """Tables are loaded as clients connect."""
        return self.target()

    def capacity(self) -> Capacity:
        """Of the node that has the fewest connections left: every client enters every node."""
        return min(
            (node.capacity() for node in self._nodes), key=lambda left: left.connections or 0
        )

    def proxies(self) -> Sequence[int]:
        """There is none before a cluster."""
        return ()


class ValkeyCluster(Several):
    """Ready when every node knows that all slots are served."""

    _same_rows = False

    def __init__(self, members: Sequence[Member], nodes: Sequence[ClusterNode]) -> None:
        """`nodes`: the members' servers."""
        super().__init__(TOPOLOGY.name, members)
        self._cluster = nodes

    @property
    def database(self) -> ClusterDatabase:
        """All nodes as one."""
        return ClusterDatabase(self._cluster)

    @property
    def entry(self) -> ClusterEntry:
        """Clients know all nodes."""
        return ClusterEntry(self._cluster)

    def _join(self, *, new: bool) -> None:
        """Deals out the slots in equal parts; nodes that are started again know one another."""
        count = len(self._cluster)
        if new:
            for number, node in enumerate(self._cluster):
                first, end = SLOTS * number // count, SLOTS * (number + 1) // count
                node.cluster("ADDSLOTSRANGE", first, end - 1)
                node.cluster("SET-CONFIG-EPOCH", number + 1)
            for node in self._cluster[1:]:
                self._cluster[0].cluster("MEET", *node.place)
        wanted = {
            "cluster_state": "ok",
            "cluster_slots_ok": str(SLOTS),
            "cluster_known_nodes": str(count),
        }

        def waiting() -> Mapping[str, str]:
            found: dict[str, str] = {}
            for member, node in zip(self._members, self._cluster, strict=True):
                state = dict(line.partition(":")[::2] for line in node.cluster("INFO").splitlines())
                if wrong := [name for name, value in wanted.items() if state[name] != value]:
                    found[member.name] = ", ".join(f"{name} is {state[name]}" for name in wrong)
            return found

        await_all(waiting, _JOIN_LIMIT_S)

    def _settle(self, limit_s: float) -> None:
        """Nothing to wait for: there are no replicas."""


def _members(spec: ServerSpec, keys: NodesTable, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec, {})


def _open(spec: ServerSpec, keys: NodesTable, openers: Openers, folder: Path) -> Server:
    refuse_settings(spec, keys, _RESERVED)
    if spec.tls:
        raise ServerError(
            "a cluster that dbdyno starts offers no TLS; one by its URL may",
            hint="leave `tls` out of the level's connection",
        )
    nodes: list[ClusterNode] = []
    members: list[Member] = []
    for planned in _members(spec, keys, openers):
        node = ClusterNode(spec_of(spec, planned), folder / planned.name)
        if nodes:
            node.share_password(nodes[0])
        nodes.append(node)
        members.append(Member(planned.name, planned.role, node))
    return ValkeyCluster(members, nodes)


def _refuses(provision: Provision, keys: NodesTable, _openers: Openers) -> str | None:
    if provision.kind not in _BRANDS:
        return f"its nodes are Valkey or Redis, not `{provision.kind}`"
    if provision.source is Source.URL:
        return (
            "a server by URL is somebody else's, and gets no nodes; a cluster that runs is "
            "found by the URL of one of its nodes, without a topology"
        )
    major = (provision.version or "").partition(".")[0]
    if major.isdecimal() and int(major) < _FIRST:
        return f"it takes Redis {_FIRST} or newer, or Valkey; this is {provision.version}"
    if keys.nodes < _FEWEST:
        return f"a cluster has at least {_FEWEST} `nodes`, not {keys.nodes}"
    return keys.unknown_role(NODE)


TOPOLOGY = Topology("valkey-cluster", _open, keys=NodesTable, members=_members, refuses=_refuses)
