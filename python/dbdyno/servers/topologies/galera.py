"""MariaDB's Galera: nodes that hold the same rows and could all take writes; clients connect to the
first, or to proxies that send them to one node as long as it lives.

The first node begins a new group. Every other starts with an empty folder and gets its data from
one that is there (`rsync`), so that all have the first's accounts.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.server import MysqlServer
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.protocol import Member, Members, Provision, Server, ServerSpec, Source
from dbdyno.servers.replication import await_all
from dbdyno.servers.topologies.several import NODE, NodesTable, Several, refuse_settings, spec_of
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_LIBRARY = Path("/usr/lib/galera/libgalera_smm.so")
_JOIN_LIMIT_S = 180.0
_RESERVED = frozenset(
    {
        "wsrep_cluster_address",
        "wsrep_node_address",
        "wsrep_node_name",
        "wsrep_on",
        "wsrep_provider",
        "wsrep_provider_options",
        "wsrep_sst_method",
        "wsrep_sst_receive_address",
    }
)
_NEEDED = {"binlog_format": "ROW", "innodb_autoinc_lock_mode": "2"}
_UNKNOWN_PLACE = re.compile(r"^seqno:\s+-1$", re.MULTILINE)
_RECOVERED = re.compile(r"WSREP: Recovered position:\s*(\S+)")
_NOT_PREPARED = "WSREP has not yet prepared node"
_STATES = """
    SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM information_schema.GLOBAL_STATUS
    WHERE VARIABLE_NAME IN
        ('WSREP_CLUSTER_SIZE', 'WSREP_LOCAL_STATE_COMMENT', 'WSREP_LAST_COMMITTED')"""


class GaleraNode(MysqlServer):
    """Its data folder is made like that of a single server; settings of the group are added when it
    is started."""

    def __init__(self, spec: ServerSpec, folder: Path, name: str, nodes: list[GaleraNode]) -> None:
        """`nodes`: all of the group that were made before it; it adds itself."""
        super().__init__(BRAND, spec, folder)
        self._name = name
        self._nodes = nodes
        self._own = dict(self._asked)
        self._group = ""
        if nodes:
            self._password = nodes[0]._password
            self._has_accounts = True
        self._is_first = not nodes
        nodes.append(self)

    @property
    def group(self) -> str:
        """Address at which other nodes join it; every start has another."""
        return self._group

    def _initialise(self) -> None:
        if self._is_first:
            super()._initialise()
            return
        self._data.mkdir(mode=0o700)
        self._daemon.give(self._data)

    def _serve(self, limit_s: float = _JOIN_LIMIT_S) -> None:
        """Starts it as a node of those that run. Where none does it begins a new group, with the
        data of the group before if it has any."""
        host = self._address
        others = [node.group for node in self._nodes if node is not self and node.alive()]
        self._group = f"{host}:{free_port()}"
        options = {"base_host": host, "base_port": self._group.rpartition(":")[2]}
        options["gmcast.listen_addr"] = f"tcp://{self._group}"
        options["ist.recv_addr"] = f"{host}:{free_port()}"
        self._asked = {
            "wsrep_on": "ON",
            "wsrep_provider": str(_LIBRARY),
            "wsrep_cluster_name": "dbdyno",
            "wsrep_cluster_address": f"gcomm://{','.join(others)}",
            "wsrep_node_name": self._name,
            "wsrep_node_address": host,
            "wsrep_provider_options": ";".join(f"{k}={v}" for k, v in options.items()),
            "wsrep_sst_method": "rsync",
            "wsrep_sst_receive_address": f"{host}:{free_port()}",
            **self._own,
        }
        state = self._data / "grastate.dat"
        text = state.read_text() if state.exists() else ""
        if not others and text:
            state.write_text(text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))
        if _UNKNOWN_PLACE.search(text):
            self._asked["wsrep_start_position"] = self._recovered_place()
        super()._serve(limit_s)

    def _recovered_place(self) -> str:
        """The last transaction that a killed node has in its data. Without it, the node would copy
        all data of another node, and stop that node's writes meanwhile."""
        self._configure()
        output = self._root / "recovery.log"
        arguments = [f"--defaults-file={self._configuration}", "--wsrep-recover"]
        self._daemon.run_helper(
            [self._program, *arguments],
            cwd=self._root,
            env=self._own_environment(),
            limit_s=_JOIN_LIMIT_S,
            output=output,
        )
        printed = output.read_text(errors="replace")
        found = _RECOVERED.search(printed)
        if found is None:
            message = f"{self._name} does not find its place in the group"
            raise ServerError(message, hint=printed[-500:])
        return found[1]

    def _greet(self) -> None:
        """Waits also for a node that takes connections, but refuses statements until it has caught
        up."""
        try:
            super()._greet()
        except ConnectError:
            raise
        except ServerError as error:
            if _NOT_PREPARED not in error.message:
                raise
            raise ConnectError(error.message) from error


class Galera(Several):
    """Ready when every node is in the group and has its data."""

    @property
    def members(self) -> Members:
        """Nodes, any of which can take the clients."""
        return replace(super().members, alike=True)

    def _join(self, *, new: bool) -> None:
        size = str(len(self._members))

        def waiting() -> Mapping[str, str]:
            states = {member.name: _state(member) for member in self._members}
            return {
                name: f"{state['WSREP_LOCAL_STATE_COMMENT']}, in a group of "
                f"{state['WSREP_CLUSTER_SIZE']}"
                for name, state in states.items()
                if state["WSREP_LOCAL_STATE_COMMENT"] != "Synced"
                or state["WSREP_CLUSTER_SIZE"] != size
            }

        await_all(waiting, _JOIN_LIMIT_S)

    def _settle(self, limit_s: float) -> None:
        place = _committed(self._first)

        def waiting() -> Mapping[str, str]:
            behind = {member.name: place - _committed(member) for member in self._members}
            return {name: f"{count} behind" for name, count in behind.items() if count > 0}

        await_all(waiting, limit_s)


def _state(member: Member) -> Mapping[str, str]:
    session = member.server.database.inside()
    try:
        return {str(row["name"]).upper(): str(row["value"]) for row in session.rows(_STATES)}
    finally:
        session.close()


def _committed(member: Member) -> int:
    """The last transaction of the group that a node has applied."""
    return int(_state(member)["WSREP_LAST_COMMITTED"])


def _members(spec: ServerSpec, keys: NodesTable, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec, _NEEDED)


def _open(spec: ServerSpec, keys: NodesTable, openers: Openers, folder: Path) -> Server:
    refuse_settings(spec, keys, _RESERVED)
    nodes: list[GaleraNode] = []
    members: list[Member] = []
    for planned in _members(spec, keys, openers):
        own = spec_of(spec, planned)
        node = GaleraNode(own, folder / planned.name, planned.name, nodes)
        members.append(Member(planned.name, planned.role, node))
    return Galera(TOPOLOGY.name, members)


def _refuses(provision: Provision, keys: NodesTable, _openers: Openers) -> str | None:
    if provision.kind != BRAND.kind:
        return f"its nodes are MariaDB, not `{provision.kind}`"
    if provision.source not in (Source.SYSTEM, Source.PATH):
        return "it takes an installed MariaDB (`mariadb@system`), which has the programs it needs"
    if wrong := keys.unknown_role(NODE):
        return wrong
    lacking = [] if _LIBRARY.exists() else ["galera-4"]
    lacking += [program for program in ("rsync", "lsof") if shutil.which(program) is None]
    return f"`apt-get install {' '.join(lacking)}` first" if lacking else None


TOPOLOGY = Topology("galera", _open, keys=NodesTable, members=_members, refuses=_refuses)
