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
from dbdyno.conduct.shares import require_shares
from dbdyno.conduct.topology import many_servers
from dbdyno.engine import Engine, plan_engine, spec_of_clients
from dbdyno.errors import MachineError
from dbdyno.formats.quantities import format_size
from dbdyno.model import Cell, Load, Needs
from dbdyno.model.part import NETWORKS
from dbdyno.servers import Source, parse_provision
from dbdyno.servers.topologies.proxies.registry import find_proxy

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
    require_shares(cell, size)
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
