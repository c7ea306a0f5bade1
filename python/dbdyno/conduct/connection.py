"""Connection settings of a cell: checks them beforehand and puts them into the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from dbdyno.design.cells import cells
from dbdyno.errors import ServerError
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import ALL_MEMBERS, Cell, Group, Load, Missing, Study
from dbdyno.model.part import NETWORKS
from dbdyno.servers import Server, Source, parse_provision
from dbdyno.servers.nodes.certificate import PACKAGE, PROGRAM, has_program
from dbdyno.servers.protocol import Member
from dbdyno.servers.registry import refuse_connection
from dbdyno.servers.topologies.topology import PlannedMember

_PLACES = "endpoints"
"""The key of a target that has its addresses."""


def run_target(server: Server, cell: Cell) -> Mapping[str, object]:
    """Where and how a cell's clients connect, as in the run spec."""
    wishes = cell.connection
    transport = cast("Literal['unix', 'tcp'] | None", wishes.get("transport"))
    target = dict(server.entry.target(transport))
    if "tls" in wishes:
        own = cast("Mapping[str, object]", target.get("tls", {}))
        demanded = own.get("mode") in ("verify-ca", "verify-full")
        mode = own["mode"] if demanded else "require"
        target["tls"] = {**own, "mode": mode if wishes["tls"] else "disable"}
    if "compression" in wishes:
        target["compression"] = wishes["compression"] or None
    return target


def targets_of_groups(server: Server, cell: Cell, load: Load) -> Mapping[str, Mapping[str, object]]:
    """Targets of the groups that connect to members, by the group's name.

    # Errors
    `ServerError` if a group's members are not reached by the same user and password.
    """
    return {
        group.name: _target_of_members(server, cell, group) for group in load.groups if group.entry
    }


def _target_of_members(server: Server, cell: Cell, group: Group) -> Mapping[str, object]:
    members = [member for member in server.members if is_entry(group.entry, member)]
    first, *others = [run_target(member.server, cell) for member in members]
    every = [first, *others]
    if any({**other, _PLACES: ()} != {**first, _PLACES: ()} for other in others):
        names = " and ".join(member.name for member in members)
        raise ServerError(
            f"group `{group.name}`: {names} differ in more than their address",
            hint="one user, password and database must fit all, or each needs a group of its own",
        )
    places = [cast("Sequence[object]", target[_PLACES]) for target in every]
    return {**first, _PLACES: [place for some in places for place in some]}


def is_entry(entry: str, member: Member | PlannedMember) -> bool:
    """Whether a group with this `entry` connects to the member."""
    return entry in (ALL_MEMBERS, member.name, member.role)


def wants_tls(cell: Cell) -> bool:
    """Whether the cell's server must offer TLS."""
    return bool(cell.connection.get("tls"))


def missing_for_connections(study: Study) -> tuple[Missing, ...]:
    """What this machine lacks to make certificates."""
    ours = (parse_provision(c.provision).source is not Source.URL for c in _encrypted(study))
    if not any(ours) or has_program():
        return ()
    what = f"there is no program `{PROGRAM}` to make a certificate for TLS"
    return (Missing(what, f"`apt-get install {PACKAGE}`"),)


def check_connections(loaded: StudyFile) -> None:
    """Raises `StudyError`, for an impossible connection of a cell's server."""
    for cell in cells(loaded.study):
        table = deciding_level(loaded.study, cell, lambda level: level.connection)
        path = (*(table or ()), "connection")
        try:
            refuse_connection(cell.provision, cell.connection)
        except ServerError as error:
            raise loaded.error(path, error.message, hint=error.hint) from error
        if problem := _wrong(cell):
            message, hint = problem
            raise loaded.error(path, message, hint=hint)


def _wrong(cell: Cell) -> tuple[str, str] | None:
    """What is wrong with a connection whatever the kind of server, and what to do about it."""
    wishes = cell.connection
    transport = wishes.get("transport")
    by_url = parse_provision(cell.provision).source is Source.URL
    over_tcp = transport == "tcp" or bool(NETWORKS & cell.host.keys()) or bool(cell.proxy)
    if transport and by_url:
        return "`transport`: a server by URL is reached as its URL says", "leave it out"
    if transport == "unix" and (named := min(NETWORKS & cell.host.keys(), default=None)):
        return f"`transport`: through `host.{named}` a server is reached over TCP", "leave it out"
    if wants_tls(cell) and not by_url and not over_tcp:
        return (
            "`tls`: a Unix socket is never encrypted, and this cell's clients use one",
            'say `transport = "tcp"` in [connection], for all cells alike',
        )
    return None


def _encrypted(study: Study) -> tuple[Cell, ...]:
    return tuple(cell for cell in cells(study) if wants_tls(cell))
