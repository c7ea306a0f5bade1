"""Checks before any data is touched whether a run fits: its needs against the limits.

The engine's plan says what a run needs. Unknown limits are not checked. The checks are pure;
`require` queries engine, machine and server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbdyno.collect import MachineLimits, machine_limits
from dbdyno.engine import plan_engine
from dbdyno.errors import MachineError
from dbdyno.guard.launch import ORDINARY, Launch

if TYPE_CHECKING:
    from dbdyno.engine import Engine
    from dbdyno.model import EnginePlan
    from dbdyno.servers import Capacity, Server


_OF_THIS_MACHINE = frozenset({"open-files", "files-of-all", "ports", "accept-queue"})
"""Codes of limits that the clients' machine has."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing a run needs and how much of it there is."""

    code: str
    what: str
    needed: int
    available: int | None
    """`None`: unknown or unlimited."""
    cure: str

    @property
    def is_met(self) -> bool:
        """Whether the limit suffices; an unknown one does."""
        return self.available is None or self.needed <= self.available

    def __str__(self) -> str:
        there = "unknown" if self.available is None else f"{self.available:,} available"
        return f"{self.what}: {self.needed:,} needed, {there}"


def require(
    engine: Engine,
    specs: Iterable[Mapping[str, Any]],
    server: Server | None,
    processes: int | None,
    launch: Launch = ORDINARY,
    *,
    preparing: int = 1,
    scripts: bool = True,
    elsewhere: bool = False,
) -> None:
    """Raises `MachineError` listing every limit that one of `specs` exceeds. `processes` applies
    to the command `run`, `preparing` to others on several load hosts. `scripts`: they may be
    executed, to ask what they need. `elsewhere`: clients are on other hosts, and of this machine
    nothing is needed."""
    from dbdyno.servers import Capacity

    capacity = server.entry.capacity() if server is not None else Capacity()
    missed: list[Limit] = []
    for spec in specs:
        count = processes if spec["command"] == "run" else preparing if preparing > 1 else None
        plan = plan_engine(engine, spec, processes=count, launch=launch, scripts=scripts)
        found = limits(spec, plan, machine_limits(), capacity)
        missed += [
            limit
            for limit in found
            if not limit.is_met and not (elsewhere and limit.code in _OF_THIS_MACHINE)
        ]
    if missed:
        raise MachineError(
            "this run does not fit:\n" + "\n".join(f"  {limit}" for limit in missed),
            hint="\n      ".join(limit.cure for limit in missed),
        )


def limits(
    spec: Mapping[str, Any],
    plan: EnginePlan,
    machine: MachineLimits,
    capacity: Capacity,
) -> Iterator[Limit]:
    """All limits that apply to a run of `spec`, with the engine's `plan`; for an in-process
    database, those of files."""
    endpoints = spec["target"].get("endpoints", ())
    if not endpoints:
        yield _files(plan, "fewer clients")
        return
    if spec.get("command", "run") != "run":
        yield _to_fill(plan, capacity)
        return
    yield Limit(
        "connections",
        f"connections to the server ({capacity.basis})" if capacity.basis else "connections",
        plan.connections,
        capacity.connections,
        capacity.cure,
    )
    yield from machine_needs(plan, machine, endpoints)
    statements = _statements(spec["groups"], plan)
    if spec["target"].get("prepared_statements", True) and statements:
        yield Limit(
            "statements",
            "prepared statements",
            statements,
            capacity.statements,
            "raise the server's max_prepared_stmt_count, or use fewer tables or clients",
        )
    if capacity.accept_queue is not None:
        yield Limit(
            "backlog",
            "connections made at a time (the server's own queue)",
            plan.connecting,
            capacity.accept_queue,
            "raise the server's back_log",
        )


def _files(plan: EnginePlan, cure: str) -> Limit:
    who = f"an engine process ({plan.processes} of them)" if plan.processes > 1 else "the engine"
    return Limit(
        "open-files",
        f"open files of {who}",
        plan.open_files,
        plan.open_files_limit,
        f"{cure}, or a higher hard limit: `ulimit -Hn`, LimitNOFILE, limits.conf",
    )


def _to_fill(plan: EnginePlan, capacity: Capacity) -> Limit:
    there = f", {capacity.basis}" if capacity.basis else ""
    return Limit(
        "loaders",
        f"connections to load tables over ({plan.clients} of clients and {plan.loaders} loaders"
        f"{there})",
        plan.connections,
        capacity.connections,
        f"fewer loaders (`loaders` in [load], --loaders); or {capacity.cure}",
    )


def machine_needs(
    plan: EnginePlan, machine: MachineLimits, endpoints: Sequence[Mapping[str, Any]]
) -> Iterator[Limit]:
    """What clients of a server at these endpoints need of this machine."""
    hosts = [endpoint["tcp"] for endpoint in endpoints if "tcp" in endpoint]
    yield _files(plan, "more --processes")
    yield Limit(
        "files-of-all",
        "open files of all processes",
        plan.open_files_of_all,
        machine.files_of_all,
        "`sysctl fs.file-max` must be larger",
    )
    if hosts:
        places = len({(place["host"], place["port"]) for place in hosts})
        yield Limit(
            "ports",
            "local ports for connections to "
            + (f"each of {places} server addresses" if places > 1 else "the server's address"),
            -(-plan.clients // places),
            machine.ports,
            "`sysctl -w net.ipv4.ip_local_port_range='1024 65535'`, more addresses of the server "
            "(`host=127.0.0.1,127.0.0.2`), or a Unix socket",
        )
    if plan.is_local:
        yield Limit(
            "accept-queue",
            "connections made at a time (the kernel's queue)",
            plan.connecting,
            machine.accept_queue,
            "`sysctl -w net.core.somaxconn=4096`",
        )


def _statements(groups: Sequence[Mapping[str, Any]], plan: EnginePlan) -> int:
    """How many all clients prepare, by scripts that declare it and by sysbench's own."""
    from dbdyno.conduct.sysbench_scripts import sysbench_volume
    from dbdyno.model import Tables

    volumes = plan.volumes or (None,) * len(groups)
    total = 0
    for group, volume in zip(groups, volumes, strict=True):
        called = Tables(group["script"], group.get("options", {}))
        known = volume or sysbench_volume(called)
        total += int(group["clients"]) * (known.statements if known else 0)
    return total
