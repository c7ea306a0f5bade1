"""Checks what the largest step of a cell needs of this machine, before any server is started.

The running server's own limits are checked in `preflight.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.collect import MachineLimits
from dbdyno.conduct.needs import Machine, at_least, this_machine
from dbdyno.conduct.preflight import Limit, machine_needs
from dbdyno.conduct.proxy import proxy_wish
from dbdyno.conduct.topology import hosts_of_members, many_servers
from dbdyno.engine import Engine, plan_engine, spec_of_clients
from dbdyno.errors import MachineError
from dbdyno.formats.quantities import format_size
from dbdyno.model import Cell, Load, Needs
from dbdyno.model.part import NETWORKS
from dbdyno.servers import Source, parse_provision
from dbdyno.servers.topologies.behind_proxy import PROXIES
from dbdyno.servers.topologies.proxies.registry import find_proxy
from dbdyno.setters.registry import find_setter

_SERVERS = "server"
_OF_THE_HOST_S_NETWORK = ("ports", "accept-queue")


def most_clients(cell: Cell, load: Load) -> int:
    """Most clients of any of the cell's steps, without groups."""
    most = cell.most_clients
    return max(clients for clients in load.clients if most is None or clients <= most)


def require_room(
    cell: Cell, load: Load, machine: MachineLimits, engine: Engine, needs: Needs | None = None
) -> None:
    """Raises `MachineError` with every limit of this machine that the cell exceeds. Where the study
    needs a larger machine, several servers have that one's processors and memory."""
    size = at_least(this_machine(), needs or Needs())
    _require_memory(cell, size)
    _require_shares(cell, size)
    missed = [limit for limit in _limits(cell, load, machine, engine) if not limit.is_met]
    if missed:
        raise MachineError(
            f"{most_clients(cell, load):,} clients do not fit this machine:\n"
            + "\n".join(f"  {limit}" for limit in missed),
            hint="\n      ".join(limit.cure for limit in missed),
        )


def _require_memory(cell: Cell, machine: Machine) -> None:
    """Raises if several servers need more than there is; a single one's cache is not checked."""
    servers = many_servers(cell)
    if servers is None:
        return
    if servers.memory_bytes > machine.memory_bytes:
        raise MachineError(
            f"{len(servers.members)} servers with full caches take "
            f"{format_size(servers.memory_bytes)} of memory; this machine has "
            f"{format_size(machine.memory_bytes)}",
            hint="smaller caches (`member` has settings by role), or fewer members",
        )


def _require_shares(cell: Cell, machine: Machine) -> None:
    """Raises if the limits of members and proxies leave nothing of this machine to the clients, or
    less than the processors that these are bound to: each member then stands for a machine of its
    own."""
    hosts = {name: host for name, host in hosts_of_members(cell).items() if "limits" in host}
    if not hosts:
        return
    if "limits" in cell.host:
        hosts[_SERVERS] = cell.host
    asked = [find_setter("limits").read(host["limits"]) for host in hosts.values()]
    cpus = sum(limits.cpus or 0.0 for limits in asked)
    memory_bytes = sum(limits.memory_bytes or 0 for limits in asked)
    bound = find_setter("cpus").read(cell.host["cpus"]) if "cpus" in cell.host else {}
    of_clients = len(bound.get("client", ()))
    who = _in_words([*hosts])
    hint = "smaller `limits` in `member` or `proxy.host`, or fewer members"
    if cpus >= machine.cores or cpus + of_clients > machine.cores:
        clients = f"clients, bound to {of_clients} of them" if of_clients else "clients"
        leave = "too few" if of_clients and cpus < machine.cores else "none"
        raise MachineError(
            f"{who} with {cpus:g} processors together leave {leave} of this machine's "
            f"{machine.cores} to the {clients}",
            hint=hint,
        )
    if memory_bytes >= machine.memory_bytes:
        raise MachineError(
            f"{who} with {format_size(memory_bytes)} of memory together leave none "
            f"of this machine's {format_size(machine.memory_bytes)} to the clients",
            hint=hint,
        )


def _in_words(names: Sequence[str]) -> str:
    """Members by their number, then what else has limits."""
    others = {_SERVERS: "the server", PROXIES: "the proxies"}
    members = len([name for name in names if name not in others])
    words = [f"{members} members"] if members else []
    return " and ".join([*words, *(word for name, word in others.items() if name in names)])


def _limits(cell: Cell, load: Load, machine: MachineLimits, engine: Engine) -> Iterator[Limit]:
    source = parse_provision(cell.provision).source
    if not cell.abilities.takes_script or source in (Source.EMBEDDED, Source.URL):
        return
    clients = most_clients(cell, load) + sum(group.clients for group in load.groups)
    endpoints = _endpoints(cell)
    spec = spec_of_clients(clients, endpoints, load.shards)
    plan = plan_engine(engine, spec, processes=load.processes)
    # Load hosts have other limits, which a run asks them for.
    for limit in () if load.hosts else machine_needs(plan, machine, endpoints):
        if "network" not in cell.host or limit.code not in _OF_THE_HOST_S_NETWORK:
            yield limit
    if wish := proxy_wish(cell):
        of_process = find_proxy(wish.kind).most_clients(wish.settings)
        yield Limit(
            "proxy",
            f"clients of {wish.processes} × {wish.kind} ({of_process:,} each)",
            clients,
            wish.processes * of_process,
            "more `processes` of the proxy, or a higher hard limit: `ulimit -Hn`",
        )
        yield Limit(
            "files-of-proxies",
            "open files of clients and proxies together",
            2 * clients,
            machine.files_of_all,
            "`sysctl fs.file-max` must be larger",
        )


def _endpoints(cell: Cell) -> Sequence[Mapping[str, Any]]:
    """Where clients will connect, as far as known."""
    wish = proxy_wish(cell)
    if (
        wish is None
        and not NETWORKS & cell.host.keys()
        and cell.connection.get("transport") != "tcp"
    ):
        return ({"unix": ""},)
    count = 1 if wish is None else wish.processes
    return tuple({"tcp": {"host": "127.0.0.1", "port": number}} for number in range(count))
