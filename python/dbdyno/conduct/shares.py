"""Checks that servers, proxies and clients with limits of their own fit this machine together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.conduct.needs import Machine
from dbdyno.conduct.topology import hosts_of_members
from dbdyno.errors import MachineError
from dbdyno.formats.quantities import format_size
from dbdyno.model import Cell
from dbdyno.servers.topologies.behind_proxy import PROXIES
from dbdyno.setters.limits import LIMITS, SETTER, UNLIMITED, Limits
from dbdyno.setters.registry import find_setter

_SERVERS = "server"
_DIGITS = 6
"""Ten times 0.1 are 1."""
_HINT = "smaller `limits` in `member`, `proxy.host` or `host`, or fewer members"


def limits_of_clients(host: Mapping[str, object]) -> Limits:
    """The clients' own limits in the host parts of a cell."""
    return _of_cell(host).client or UNLIMITED


def require_shares(cell: Cell, machine: Machine) -> None:
    """Raises if the limits of members and proxies leave nothing of this machine to the clients, or
    less than these are limited or bound to: each member then stands for a machine of its own."""
    clients = limits_of_clients(cell.host)
    _require_clients(clients, machine)
    limits = {
        name: SETTER.read(host[LIMITS])
        for name, host in hosts_of_members(cell).items()
        if LIMITS in host
    }
    of_cell = _of_cell(cell.host)
    if not limits and clients == UNLIMITED:
        return
    if of_cell.controllers():
        limits[_SERVERS] = of_cell
    _require_processors(cell, limits, clients, machine)
    _require_memory(limits, clients, machine)


def _of_cell(host: Mapping[str, object]) -> Limits:
    return SETTER.read(host[LIMITS]) if LIMITS in host else UNLIMITED


def _require_clients(clients: Limits, machine: Machine) -> None:
    """They alone may have the whole machine."""
    if (clients.cpus or 0) > machine.cores:
        raise MachineError(
            f"clients with {clients.cpus:g} processors are more than this machine's "
            f"{machine.cores}",
            hint=_HINT,
        )
    if (clients.memory_bytes or 0) > machine.memory_bytes:
        raise MachineError(
            f"clients with {format_size(clients.memory_bytes or 0)} of memory are more than this "
            f"machine's {format_size(machine.memory_bytes)}",
            hint=_HINT,
        )


def _require_processors(
    cell: Cell, limits: Mapping[str, Limits], clients: Limits, machine: Machine
) -> None:
    cpus = round(sum(limit.cpus or 0.0 for limit in limits.values()), _DIGITS)
    bound = find_setter("cpus").read(cell.host["cpus"]) if "cpus" in cell.host else {}
    of_clients = len(bound.get("client", ()))
    least = min(filter(None, (clients.cpus, of_clients)), default=0)
    if cpus < machine.cores and round(cpus + least, _DIGITS) <= machine.cores:
        return
    words = "clients"
    if clients.cpus and clients.cpus == least:
        words += f", limited to {clients.cpus:g} of them"
    elif of_clients:
        words += f", bound to {of_clients} of them"
    leave = "too few" if least and cpus < machine.cores else "none"
    raise MachineError(
        f"{_in_words([*limits])} with {cpus:g} processors together leave {leave} of this machine's "
        f"{machine.cores} to the {words}",
        hint=_HINT,
    )


def _require_memory(limits: Mapping[str, Limits], clients: Limits, machine: Machine) -> None:
    memory_bytes = sum(limit.memory_bytes or 0 for limit in limits.values())
    least = clients.memory_bytes or 0
    if memory_bytes < machine.memory_bytes and memory_bytes + least <= machine.memory_bytes:
        return
    leave = "too little" if least and memory_bytes < machine.memory_bytes else "none"
    words = f"clients, limited to {format_size(least)} of it" if least else "clients"
    raise MachineError(
        f"{_in_words([*limits])} with {format_size(memory_bytes)} of memory together leave {leave} "
        f"of this machine's {format_size(machine.memory_bytes)} to the {words}",
        hint=_HINT,
    )


def _in_words(names: Sequence[str]) -> str:
    """Members by their number, then what else has limits."""
    others = {_SERVERS: "the server", PROXIES: "the proxies"}
    members = len([name for name in names if name not in others])
    words = [f"{members} members"] if members else []
    return " and ".join([*words, *(word for name, word in others.items() if name in names)])
