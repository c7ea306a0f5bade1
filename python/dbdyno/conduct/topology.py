"""The topology of a cell's server: checked, with the file's line, before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from dbdyno.conduct.connection import is_entry
from dbdyno.conduct.host import check_own, is_of_clients
from dbdyno.conduct.level_loads import load_path
from dbdyno.design.cells import cells
from dbdyno.errors import LabError
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.quantities import format_size, size_of_setting
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import ALL_MEMBERS, GROUPS, Cell, groups_of, load_of
from dbdyno.servers import Provision, ServerSpec, parse_provision
from dbdyno.servers.registry import openers
from dbdyno.servers.topologies.behind_proxy import PROXIES
from dbdyno.servers.topologies.registry import find_topology
from dbdyno.servers.topologies.topology import KeyOfTopologyError, PlannedMember

_OWN_BYTES = 80_000_000
"""What a server process takes beside its cache: 50 to 130 MB were measured, without clients."""
_CACHES: Mapping[str, tuple[str, str]] = {
    "mariadb": ("innodb_buffer_pool_size", "128M"),
    "mysql": ("innodb_buffer_pool_size", "128M"),
    "postgresql": ("shared_buffers", "128MB"),
}
"""Kind of server → the setting of its cache, and its default."""
_OF_A_MEMBER = ("limits", "filesystem")
"""Setters that a member can have for itself."""


@dataclass(frozen=True, slots=True)
class ManyServers:
    """The servers of a cell that has several."""

    members: tuple[str, ...]
    """Their names, in the order in which they are started; each takes a port."""
    memory_bytes: int
    """What they take together once their caches are full."""
    are_ours: bool = True
    """Whether they are started; else somebody else runs them, and they take nothing here."""

    def __str__(self) -> str:
        if not self.are_ours:
            return f"{', '.join(self.members)} (by URL, not started)"
        return (
            f"{', '.join(self.members)} ({len(self.members)} ports, up to "
            f"{format_size(self.memory_bytes)} of memory)"
        )


def many_servers(cell: Cell) -> ManyServers | None:
    """The servers of a cell's topology; `None` if it has a single server."""
    if not cell.topology:
        return None
    provision = parse_provision(cell.provision)
    planned = _members(cell, provision)
    ours = [member for member in planned if member.is_ours]
    needed = sum(_OWN_BYTES + _cache_bytes(provision.kind, member) for member in ours)
    return ManyServers(tuple(member.name for member in planned), needed, bool(ours))


def planned_members(cell: Cell) -> Sequence[PlannedMember]:
    """The servers of a cell's topology before they are started; none for a single server."""
    return _members(cell, parse_provision(cell.provision)) if cell.topology else ()


def hosts_of_members(cell: Cell) -> Mapping[str, Mapping[str, object]]:
    """What members ask of this machine for themselves, and the proxies before them for all of them
    together: name → setter → value; without those that ask for nothing."""
    hosts = {member.name: member.host for member in planned_members(cell) if member.host}
    of_proxies = cell.proxy.get("host")
    return {**hosts, PROXIES: cast("Mapping[str, object]", of_proxies)} if of_proxies else hosts


def count_of_servers(cell: Cell) -> int:
    """How many are started for a cell; 1 if it has no topology, or somebody else's servers."""
    servers = many_servers(cell)
    return len(servers.members) if servers is not None and servers.are_ours else 1


def _members(cell: Cell, provision: Provision) -> Sequence[PlannedMember]:
    topology = find_topology(str(cell.topology["name"]))
    spec = ServerSpec(provision, cell.settings)
    return topology.members(spec, topology.read(cell.topology), openers())


def _cache_bytes(kind: str, member: PlannedMember) -> int:
    name, default = _CACHES.get(kind, ("", ""))
    return size_of_setting(member.settings.get(name, default))


def check_topologies(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the file's line, for an impossible topology."""
    for cell in cells(loaded.study):
        if not cell.topology:
            continue
        table = deciding_level(loaded.study, cell, lambda level: level.topology) or ("server",)
        try:
            topology = find_topology(str(cell.topology["name"]))
            keys = topology.read(cell.topology)
        except KeyOfTopologyError as error:
            place = f"`{topology.name}` in [{'.'.join(table)}]"
            path = (*table, *error.path)
            raise loaded.error(path, f"{place}: {error}", hint=error.hint) from error
        except LabError as error:
            raise loaded.error((*table, "topology"), error.message, hint=error.hint) from error
        reason = topology.refuses(parse_provision(cell.provision), keys, openers())
        if reason is not None:
            raise loaded.error((*table, "topology"), f"`{topology.name}`: {reason}")
        for role, name, message in _wrong_hosts(cell):
            raise loaded.error((*table, "member", role, "host", name), message)


def _wrong_hosts(cell: Cell) -> Iterator[tuple[str, str, str]]:
    """Role and setter of what a member can't have, and why."""
    for member in planned_members(cell):
        for name, wish in member.host.items():
            if name not in _OF_A_MEMBER:
                known = " and ".join(f"`{setter}`" for setter in _OF_A_MEMBER)
                yield member.role, name, f"`host.{name}` can't be set for a member; {known} can"
                continue
            try:
                check_own(name, wish)
            except ValueError as error:
                yield member.role, name, f"`host.{name}`: {error}"
            if name in cell.host and not is_of_clients(name, cell.host[name]):
                message = f"`host.{name}` of the cell holds for all servers together; leave it out"
                yield member.role, name, message


def check_entries(loaded: StudyFile) -> None:
    """Raises `StudyError` for a group whose `entry` is no member of a cell's server."""
    for cell in cells(loaded.study):
        for group in load_of(loaded.study.load, cell).groups:
            members = planned_members(cell) if group.entry else ()
            if not group.entry or any(is_entry(group.entry, member) for member in members):
                continue
            of_level = group.name in groups_of(cell.load)
            table = load_path(loaded, cell, GROUPS) if of_level else ("load",)
            known = sorted({ALL_MEMBERS, *(w for m in members for w in (m.name, m.role))})
            raise loaded.error(
                (*table, "group", group.name, "entry"),
                f"`entry`: cell {cell.label} has no member `{group.entry}`",
                hint=nearest_hint(group.entry, known)
                if members
                else "its server has no members: say the group in the `load` of levels that have",
            )
