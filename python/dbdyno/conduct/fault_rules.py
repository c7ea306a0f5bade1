"""The faults of a study: checked, with the file's line, before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dbdyno.conduct.level_loads import load_path
from dbdyno.conduct.topology import planned_members
from dbdyno.design.cells import cells
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study import StudyFile
from dbdyno.model import OWN_HOST_PARTS, Cell, Study, load_of
from dbdyno.model.cell_load import FAULTS
from dbdyno.model.fault import ACTIVE, ON_LINKS, POWER_FAILURE, PROMOTIONS, Fault, timetable
from dbdyno.servers import Source, parse_provision
from dbdyno.servers.topologies.primary_replicas import PRIMARY
from dbdyno.servers.topologies.proxies.registry import find_proxy
from dbdyno.servers.topologies.registry import find_topology
from dbdyno.servers.topologies.topology import PlannedMember
from dbdyno.setters.setter import find_program

_KINDS = ("postgresql", "mysql", "mariadb")


def check_faults(loaded: StudyFile) -> None:
    """Raises `StudyError` for a fault that a cell can't have."""
    for cell in cells(loaded.study):
        place = (*load_path(loaded, cell, FAULTS), "fault") if FAULTS in cell.load else ("fault",)
        for number, fault in enumerate(load_of(loaded.study.load, cell).faults):
            for key, message, hint in _wrong(cell, fault):
                raise loaded.error((*place, str(number), key), message, hint=hint)


def _wrong(cell: Cell, fault: Fault) -> Iterator[tuple[str, str, str | None]]:
    provision = parse_provision(cell.provision)
    if not cell.abilities.takes_script:
        message = f"faults are for loads of the engine, not of `{cell.generator}`"
        yield "do", message, "the generator `ledger` crashes a server by itself"
    if provision.source is Source.URL:
        yield "do", "a server by URL is somebody else's, and is neither killed nor paused", None
    if provision.kind not in _KINDS:
        yield "do", f"there are no faults for `{provision.kind}`, only {', '.join(_KINDS)}", None
    if fault.do == "kill-proxy" and not cell.proxy:
        hint = 'proxy = { kind = "haproxy" } for every server'
        yield "do", "`kill-proxy` needs a proxy before every server", hint
    if fault.do == "kill-server" and not _is_supervised(cell):
        message = "`kill-server` needs a supervisor that starts the server again in every cell"
        yield "do", message, 'topology = "patroni"; without one, do = "kill"'
    if fault.do == "command":
        yield from _wrong_command(cell, fault)
    if fault.do == "fill-disk" and not _has_own_filesystem(cell):
        hint = '[host] filesystem = { kind = "ext4", size = "1 GB" }'
        yield "do", "`fill-disk` needs a file system of its own in every cell", hint
    if fault.do == POWER_FAILURE and not _loses_power_alone(cell, fault):
        hint = (
            'member.ROLE.host.filesystem = "ext4" for each of them'
            if cell.topology
            else '[host] filesystem = { kind = "ext4", size = "1 GB" }'
        )
        message = f"`{fault.do}` needs a file system that only the member's data are on"
        yield "do", message, hint
    if fault.do in ON_LINKS and "links" not in cell.host:
        yield (
            "do",
            f"`{fault.do}` needs a network of the servers in every cell",
            "[host] links = true",
        )
    if fault.do in PROMOTIONS:
        yield from _wrong_promotion(cell, fault)
    members = planned_members(cell)
    known = {ACTIVE, *(word for member in members for word in (member.name, member.role))}
    if fault.member not in known:
        message = f"`member`: there is no `{fault.member}` in every cell"
        yield "member", message, nearest_hint(fault.member, sorted(known))


def _loses_power_alone(cell: Cell, fault: Fault) -> bool:
    """Whether a failure of its file system takes the data of that member only."""
    meant = [
        member
        for member in planned_members(cell)
        if fault.member in (ACTIVE, member.name, member.role)
    ]
    return all(map(_has_own_filesystem, meant)) if meant else _has_own_filesystem(cell)


def _has_own_filesystem(of: Cell | PlannedMember) -> bool:
    asked = of.host.get("filesystem")
    return isinstance(asked, str) or (isinstance(asked, Mapping) and "folder" not in asked)


def _wrong_command(cell: Cell, fault: Fault) -> Iterator[tuple[str, str, str | None]]:
    for key, program in (("apply", fault.apply[0]), ("undo", fault.undo[0])):
        if find_program(program) is None:
            yield key, f"there is no program `{program}`", "install it, or give its path"
    if wide := next((name for name in cell.host if name not in OWN_HOST_PARTS), None):
        message = f"`host.{wide}` holds this machine's switches while the load is on"
        yield "do", message, "a study has one or the other"


def _wrong_promotion(cell: Cell, fault: Fault) -> Iterator[tuple[str, str, str | None]]:
    """Clients must reach the promoted server as they reached the one before."""
    if _is_supervised(cell):
        if not cell.proxy or not find_proxy(str(cell.proxy["kind"])).checks_health:
            message = "clients reach the next primary through HAProxy only"
            yield "do", message, 'proxy = { kind = "haproxy" } for every server'
        if fault.member != ACTIVE:
            message = f"`{fault.do}` replaces the primary, not `{fault.member}`"
            yield "member", message, "leave it out"
        return
    if cell.topology.get("name") != "primary-replicas":
        hint = 'topology = "primary-replicas"'
        yield "do", f"`{fault.do}` needs a primary with replicas in every cell", hint
    elif not cell.proxy or find_proxy(str(cell.proxy["kind"])).redirect is None:
        message = "clients reach a promoted replica through HAProxy only"
        yield "do", message, 'proxy = { kind = "haproxy" } for every server'
    if fault.member not in (ACTIVE, PRIMARY):
        message = f"`{fault.do}` replaces the primary, not `{fault.member}`"
        yield "member", message, f'member = "{PRIMARY}", or leave it out'


def _is_supervised(cell: Cell) -> bool:
    name = cell.topology.get("name")
    return name is not None and find_topology(str(name)).is_supervised


def fault_words(study: Study) -> Iterator[str]:
    """The timetable of a window, for people; each run draws its own random times. A level's own
    begins with its name."""
    yield from _words(study.load.faults, study)
    for factor in study.factors:
        for level in factor.levels:
            if FAULTS in level.load:
                own = replace(cells(study)[0], load=level.load)
                listed = list(_words(load_of(study.load, own).faults, study)) or ["none"]
                yield from (f"{level.name}: {words}" for words in listed)


def _words(faults: Sequence[Fault], study: Study) -> Iterator[str]:
    for due in timetable(faults, study.load.measure_s or 0.0, 0):
        fault = due.fault
        at = f"{due.at_s:g} s" if fault.at_s is not None else f"at random, such as {due.at_s:.1f} s"
        during = f", during `{fault.during}`" if fault.during else ""
        yield f"{at}: {fault.do} {fault.member} for {fault.for_s:g} s{during}"
