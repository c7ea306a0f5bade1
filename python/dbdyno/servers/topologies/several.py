"""Several servers as one: started in order, stopped in reverse, watched and described together.

Clients connect to the first, and tables are loaded into it, unless a topology says otherwise.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from dbdyno.errors import LabError
from dbdyno.formats.load_schema import Table
from dbdyno.formats.study_schema import Host, Settings
from dbdyno.guard.launch import ORDINARY
from dbdyno.servers.protocol import Database, Entry, Member, Members, Node, ServerSpec
from dbdyno.servers.setting import refuse_reserved
from dbdyno.servers.topologies.topology import Openers, PlannedMember

_OF_EACH = frozenset({"kind", "version", "source"})
"""Facts that are kept for each member; all others are kept of the first alone."""
NODE = "node"
"""The role of each server of a group of equals, and of those that hold a coordinator's rows."""
COORDINATOR = "coordinator"
"""The role of the server that clients of shards connect to."""
_CHANGED = "settings_changed"
"""The fact that has a server's settings that are not its defaults, without ports and paths."""


class MemberTable(Table):
    """How the servers of a role differ from the others."""

    settings: Settings = Field(default={})
    host: Host = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _stays_here(cls, keys: object) -> object:
        if isinstance(keys, dict) and "place" in keys:
            raise ValueError(
                "`place` can't be carried out: dbdyno starts all members on this machine. Start "
                'the servers on their hosts, and name them by `topology = "given"`'
            )
        return keys


class MembersTable(Table):
    """Keys of every topology of several servers."""

    member: dict[str, MemberTable] = Field(default={})
    """Role → how its servers differ from the others."""

    def settings_of(self, role: str) -> Mapping[str, str]:
        """Settings of a role's servers, which win over the level's `settings`."""
        return self.member[role].settings if role in self.member else {}

    def host_of(self, role: str) -> Mapping[str, object]:
        """What each server of a role asks of this machine for itself."""
        return self.member[role].host if role in self.member else {}

    def unknown_role(self, *roles: str) -> str | None:
        """What is wrong with the roles in `member`, of which there are these; `None`: nothing."""
        other = next((role for role in self.member if role not in roles), None)
        known = "the only role is" if len(roles) == 1 else "the roles are"
        return other and f"`member.{other}`: {known} {' and '.join(roles)}"


class NodesTable(MembersTable):
    """Keys of a group of equal servers. There are three by default: when one is lost, the other two
    are still a majority."""

    nodes: Annotated[int, Field(ge=2, le=8)] = 3

    def planned(self, spec: ServerSpec, needed: Mapping[str, str]) -> Sequence[PlannedMember]:
        """Its members, `node-1` and so on; the level's settings win over those `needed`."""
        settings = {**needed, **spec.settings, **self.settings_of(NODE)}
        names = [f"{NODE}-{number}" for number in range(1, self.nodes + 1)]
        return [PlannedMember(name, NODE, settings, self.host_of(NODE)) for name in names]


Count = Annotated[int, Field(ge=1, le=8)]
"""How many servers of a role; all run on one machine, which more would overload."""


class ShardsTable(MembersTable):
    """Keys of a coordinator, to which clients connect, and `nodes` that hold the rows."""

    nodes: Count = 2

    def planned(self, spec: ServerSpec) -> Sequence[PlannedMember]:
        """Its members, the coordinator first; a role's settings win over the level's."""
        names = [(COORDINATOR, COORDINATOR)]
        names += [(f"{NODE}-{number}", NODE) for number in range(1, self.nodes + 1)]
        return [
            PlannedMember(
                name, role, {**spec.settings, **self.settings_of(role)}, self.host_of(role)
            )
            for name, role in names
        ]

    def opened(self, spec: ServerSpec, openers: Openers, folder: Path) -> Sequence[Member]:
        """Ordinary servers of the level's kind."""
        return [
            Member(
                planned.name,
                planned.role,
                openers.server(spec_of(spec, planned), folder / planned.name),
            )
            for planned in self.planned(spec)
        ]


def spec_of(spec: ServerSpec, planned: PlannedMember) -> ServerSpec:
    """What is asked of one member."""
    launch = spec.launch.joined(spec.launches.get(planned.name, ORDINARY))
    return replace(spec, settings=planned.settings, launch=launch)


def refuse_settings(spec: ServerSpec, keys: MembersTable, reserved: frozenset[str]) -> None:
    """Raises `ServerError` if the level or a role has a setting that the topology itself makes."""
    for asked in (spec.settings, *(role.settings for role in keys.member.values())):
        refuse_reserved([name.replace("-", "_") for name in asked], reserved)


class Several(ABC):
    """Its node is all their processes, its database and entry those of the first."""

    _same_rows: ClassVar[bool] = True
    """Whether each member holds all rows."""

    def __init__(self, name: str, members: Sequence[Member]) -> None:
        self._name = name
        self._members = members

    @property
    def _first(self) -> Member:
        return self._members[0]

    @abstractmethod
    def _join(self, *, new: bool) -> None:
        """Returns when all of them, started, work together; `new`: for the first time."""

    @abstractmethod
    def _settle(self, limit_s: float) -> None:
        """Returns when every member has what the first has now; raises after `limit_s`."""

    @property
    def members(self) -> Members:
        """In the order in which they are started."""
        return Members(self._members, self._settle, same_rows=self._same_rows)

    @property
    def node(self) -> Node:
        """All processes as one."""
        return _Nodes(self)

    @property
    def database(self) -> Database:
        """That of the first."""
        return self._first.server.database

    @property
    def entry(self) -> Entry:
        """That of the first."""
        return self._first.server.entry

    def start(self) -> None:
        """Starts each once the one before it is ready, and has them join."""
        for member in self._members:
            named(member, member.server.start)
        self._join(new=True)

    def join_again(self) -> None:
        """Has them join once more, all having been started again."""
        self._join(new=False)

    def facts(self) -> Mapping[str, object]:
        """The first's, and of each member its version and the settings that differ from the
        first's."""
        facts = {member.name: member.server.facts() for member in self._members}
        first = facts[self._first.name]
        members = {
            member.name: {"role": member.role, **_facts_of(facts[member.name], first)}
            for member in self._members
        }
        return {**first, "topology": {"name": self._name, "members": members}}

    def alive(self) -> bool:
        """Whether all members run."""
        return all(member.server.alive() for member in self._members)

    def check(self) -> None:
        """Raises if any has ended."""
        for member in self._members:
            named(member, member.server.check)

    def log_files(self) -> Sequence[Path]:
        """Logs of all members."""
        return [file for member in self._members for file in member.server.log_files()]

    def stop(self) -> None:
        """Stops the last first."""
        for member in reversed(self._members):
            member.server.stop()

    def close(self) -> None:
        """Removes all, whatever goes wrong with one."""
        with ExitStack() as stack:
            for member in self._members:
                stack.callback(member.server.close)


class _Nodes:
    """The nodes of all members as one: it can be stopped, killed and started again as a whole."""

    launched = ORDINARY

    def __init__(self, several: Several) -> None:
        self._several = several
        self._nodes = [member.server.node for member in several.members]

    def alive(self) -> bool:
        """Whether all of them run."""
        return all(node.alive() for node in self._nodes)

    def check(self) -> None:
        self._several.check()

    def ended_with(self) -> int | None:
        return self._nodes[0].ended_with()

    def data_folder(self) -> Path | None:
        """That of the first."""
        return self._nodes[0].data_folder()

    def processes(self) -> Sequence[int]:
        return [pid for node in self._nodes for pid in node.processes()]

    def log_files(self) -> Sequence[Path]:
        return self._several.log_files()

    def stop(self) -> None:
        self._several.stop()

    def kill(self) -> None:
        self._each(lambda node: node.kill())

    def drop(self) -> None:
        self._each(lambda node: node.drop())

    def pause(self) -> None:
        self._each(lambda node: node.pause())

    def resume(self) -> None:
        self._each(lambda node: node.resume())

    def restart(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        for node in self._nodes:
            node.restart(max(0.0, deadline - time.monotonic()))
        self._several.join_again()

    def _each(self, act: Callable[[Node], None]) -> None:
        for node in reversed(self._nodes):
            act(node)


def named(member: Member, act: Callable[[], Any]) -> None:
    """Calls `act`; an error begins with the member's name."""
    try:
        act()
    except LabError as error:
        raise error.reworded(f"{member.name}: {error.message}", hint=error.hint) from error


def _facts_of(facts: Mapping[str, Any], first: Mapping[str, Any]) -> Mapping[str, object]:
    own, common = facts.get(_CHANGED, {}), first.get(_CHANGED, {})
    return {
        **{name: facts[name] for name in _OF_EACH & facts.keys()},
        "settings_otherwise": {
            name: own.get(name, {}).get("value")
            for name in sorted(own.keys() | common.keys())
            if own.get(name) != common.get(name)
        },
    }
