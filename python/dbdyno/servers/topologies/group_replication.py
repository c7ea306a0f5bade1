"""MySQL's group replication: one primary takes writes, and the others hold the same rows; when it
dies, they choose another among themselves. Clients connect to the first node.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from dbdyno.errors import ServerError
from dbdyno.model.session import only_row
from dbdyno.servers.databases.mysql.brand import MYSQL, release_numbers
from dbdyno.servers.databases.mysql.replication import REPLICATION, SINCE
from dbdyno.servers.databases.mysql.server import MysqlServer
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.protocol import Member, Provision, Server, ServerSpec, Source
from dbdyno.servers.replication import await_all
from dbdyno.servers.topologies.several import NODE, NodesTable, Several, refuse_settings, spec_of
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_JOIN_LIMIT_S = 120.0
_NEEDED = {
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "log_bin": "binlog",
    "binlog_format": "ROW",
}
_RESERVED = frozenset(
    {
        "group_replication_bootstrap_group",
        "group_replication_group_name",
        "group_replication_group_seeds",
        "group_replication_local_address",
        "group_replication_start_on_boot",
        "plugin_load_add",
        "report_host",
        "report_port",
        "server_id",
    }
)
_STATE = """
    SELECT COALESCE(MAX(IF(MEMBER_ID = @@server_uuid, MEMBER_STATE, NULL)), 'OFFLINE') AS state,
           SUM(MEMBER_STATE = 'ONLINE') AS online,
           REPLACE(@@GLOBAL.gtid_executed, '\\n', '') AS executed
    FROM performance_schema.replication_group_members"""


class GroupNode(MysqlServer):
    """Settings of the group are added when it is started, since its plugin is loaded only then."""

    def __init__(self, spec: ServerSpec, folder: Path, nodes: list[GroupNode], name: UUID) -> None:
        """`nodes`: all of the group that were made before it; it adds itself.

        `name`: the group's.
        """
        super().__init__(MYSQL, spec, folder)
        self._nodes = nodes
        self._name = name
        self._own = dict(self._asked)
        self._group_port = 0
        if nodes:
            self._password = nodes[0]._password
        nodes.append(self)

    @property
    def group_address(self) -> str:
        """Where other nodes reach it, the same for all its life."""
        self._group_port = self._group_port or free_port()
        return f"{self._address}:{self._group_port}"

    def _configure(self) -> None:
        if self._data.exists():
            self._take_port()
            self._asked = {**self._of_group(), **self._own}
        super()._configure()

    def _of_group(self) -> Mapping[str, str]:
        return {
            "plugin_load_add": "group_replication.so",
            "server_id": str(self._nodes.index(self) + 1),
            "report_host": self._address,
            "report_port": str(self._port),
            "group_replication_group_name": str(self._name),
            "group_replication_start_on_boot": "OFF",
            "group_replication_local_address": self.group_address,
            "group_replication_group_seeds": ",".join(n.group_address for n in self._nodes),
            "group_replication_recovery_get_public_key": "ON",
        }

    def _serve(self, limit_s: float = _JOIN_LIMIT_S) -> None:
        """A node that was killed alone joins the group that goes on without it."""
        super()._serve(limit_s)
        if any(node is not self and node.alive() and node.online() for node in self._nodes):
            self.join()

    def online(self) -> bool:
        """Whether it belongs to a group and has its data."""
        return bool(self.state()["state"] == "ONLINE")

    def state(self) -> Mapping[str, Any]:
        """Its state in the group, how many nodes it sees in it, and the transactions it has."""
        return self.only(_STATE)

    def only(self, statement: str) -> Mapping[str, Any]:
        """The only row of an answer."""
        return only_row(self.execute(statement), statement)

    def execute(self, *statements: str) -> Sequence[Mapping[str, Any]]:
        """Sends them in a session of their own; returns the rows of the last."""
        session = self.inside()
        try:
            return [session.rows(statement) for statement in statements][-1]
        finally:
            session.close()

    def join(self) -> None:
        """Becomes a node of the group that there is."""
        self.execute(self._start())

    def begin(self) -> None:
        """Begins the group, as its only node so far."""
        bootstrap = "SET GLOBAL group_replication_bootstrap_group = {}"
        self.execute(bootstrap.format("ON"), self._start(), bootstrap.format("OFF"))

    def _start(self) -> str:
        target: Mapping[str, Any] = self.target("tcp")
        return "START GROUP_REPLICATION USER = '{user}', PASSWORD = '{password}'".format(**target)


class GroupReplication(Several):
    """Ready when every node is in the group and has its data."""

    def __init__(self, members: Sequence[Member], nodes: Mapping[str, GroupNode]) -> None:
        super().__init__(TOPOLOGY.name, members)
        self._nodes = nodes

    def _join(self, *, new: bool) -> None:
        if new:
            for node in self._nodes.values():
                node.execute(REPLICATION.dialect.new_log)
        if not any(node.online() for node in self._nodes.values()):
            _most_advanced([*self._nodes.values()]).begin()
        for node in self._nodes.values():
            if node.state()["state"] == "OFFLINE":
                node.join()
        size = len(self._nodes)

        def waiting() -> Mapping[str, str]:
            states = {name: node.state() for name, node in self._nodes.items()}
            return {
                name: f"{state['state']}, in a group of {state['online'] or 0}"
                for name, state in states.items()
                if state["state"] != "ONLINE" or state["online"] != size
            }

        await_all(waiting, _JOIN_LIMIT_S)

    def _settle(self, limit_s: float) -> None:
        REPLICATION.settle(self._members, limit_s)


def _most_advanced(nodes: Sequence[GroupNode]) -> GroupNode:
    """The node that has all transactions which any of them has: it begins the group again."""
    executed = [node.state()["executed"] for node in nodes]
    for node, own in zip(nodes, executed, strict=True):
        subsets = " AND ".join(f"GTID_SUBSET('{other}', '{own}')" for other in executed)
        if node.only(f"SELECT {subsets} AS has_all")["has_all"]:
            return node
    raise ServerError("no node has all transactions of the group", hint="; ".join(executed))


def _members(spec: ServerSpec, keys: NodesTable, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec, _NEEDED)


def _open(spec: ServerSpec, keys: NodesTable, openers: Openers, folder: Path) -> Server:
    refuse_settings(spec, keys, _RESERVED)
    name = UUID(bytes=secrets.token_bytes(16), version=4)
    nodes: list[GroupNode] = []
    members: list[Member] = []
    for planned in _members(spec, keys, openers):
        own = spec_of(spec, planned)
        node = GroupNode(own, folder / planned.name, nodes, name)
        members.append(Member(planned.name, planned.role, node))
    by_name = {member.name: node for member, node in zip(members, nodes, strict=True)}
    return GroupReplication(members, by_name)


def _refuses(provision: Provision, keys: NodesTable, _openers: Openers) -> str | None:
    if provision.kind != MYSQL.kind:
        return f"its nodes are MySQL, not `{provision.kind}`"
    if provision.source is Source.URL:
        return "a server by URL is somebody else's, and joins no group"
    release = release_numbers(provision.version or "")
    if release and release < SINCE:
        oldest = ".".join(map(str, SINCE))
        return f"it takes MySQL {oldest} or newer; this is {provision.version}"
    return keys.unknown_role(NODE)


TOPOLOGY = Topology("group-replication", _open, keys=NodesTable, members=_members, refuses=_refuses)
