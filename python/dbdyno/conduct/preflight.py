"""Will this run fit? Asked before any data is touched: what it needs beside what is there.

A limit that is not known is not judged. The checks are pure; `require` reads machine and server.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.collect import MachineLimits, machine_limits
from dbdyno.engine.parts import OWN_FILES, processes_needed
from dbdyno.errors import MachineError
from dbdyno.model import Load
from dbdyno.servers import Capacity, Server

CONNECTORS = 16
"""Connections a shard makes at a time."""

_MOST_LOADERS = 16
_STATEMENTS: Mapping[str, tuple[int, int]] = {
    "oltp_delete": (1, 0),
    "oltp_insert": (0, 0),
    "oltp_point_select": (1, 0),
    "oltp_read_only": (5, 2),
    "oltp_read_write": (9, 2),
    "oltp_update_index": (1, 0),
    "oltp_update_non_index": (1, 0),
    "oltp_write_only": (4, 2),
}
"""Statements a client of the field's scripts prepares: for each table, and beside them."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing a run needs and how much of it there is."""

    code: str
    what: str
    needed: int
    available: int | None
    """`None`: not known, or without end."""
    cure: str

    @property
    def is_met(self) -> bool:
        """What is not known is not held against the run."""
        return self.available is None or self.needed <= self.available

    def __str__(self) -> str:
        there = "not known here" if self.available is None else f"{self.available:,} there"
        return f"{self.what}: {self.needed:,} needed, {there}"


def require(
    specs: Iterable[Mapping[str, Any]], server: Server | None, processes: int | None
) -> None:
    """Raises `MachineError` listing every limit that one of `specs` goes beyond."""
    capacity = server.capacity() if server is not None else Capacity()
    missed = [
        limit
        for spec in specs
        for limit in limits(spec, machine_limits(), capacity, processes=processes)
        if not limit.is_met
    ]
    if missed:
        raise MachineError(
            "this run does not fit:\n" + "\n".join(f"  {limit}" for limit in missed),
            hint="\n      ".join(limit.cure for limit in missed),
        )


def limits(
    spec: Mapping[str, Any],
    machine: MachineLimits,
    capacity: Capacity,
    *,
    processes: int | None = None,
) -> Iterator[Limit]:
    """Every limit that matters to a run of `spec`; of a database in process, its files."""
    endpoints = spec["target"].get("endpoints", ())
    clients = sum(group["clients"] for group in spec["groups"])
    if spec["target"]["driver"] == "sqlite":
        yield _database_files(clients, dict(spec["target"].get("pragmas", ())), machine)
    if not endpoints:
        return
    if spec.get("command", "run") != "run":
        yield _to_load(clients, spec["loaders"], capacity)
        return
    count = processes or processes_needed(spec)
    yield Limit(
        "connections",
        f"connections to the server ({capacity.told})" if capacity.told else "connections",
        clients,
        capacity.connections,
        capacity.cure,
    )
    yield from machine_needs(clients, machine, processes=count, endpoints=endpoints)
    statements = sum(map(_statements, spec["groups"]))
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
            _at_a_time(clients, spec.get("shards"), count),
            capacity.accept_queue,
            "raise the server's back_log",
        )


def _database_files(clients: int, pragmas: Mapping[str, str], machine: MachineLimits) -> Limit:
    """SQLite's clients share one process: each has the database open, and its log if there is one;
    a rollback journal is open for whoever writes, shared memory once."""
    is_wal = pragmas.get("journal_mode", "").lower() == "wal"
    each = 2 if is_wal else 1
    return Limit(
        "open-files",
        f"open files of the engine ({'database and log' if is_wal else 'the database'} for each of "
        f"{clients:,} clients)",
        clients * each + OWN_FILES,
        machine.open_files,
        "fewer clients, or a higher hard limit: `ulimit -Hn`, LimitNOFILE, limits.conf",
    )


def loader_count(load: Load) -> int:
    """Connections that carry rows besides the scripts' own."""
    if load.loaders is not None:
        return load.loaders
    return min(2 * len(os.sched_getaffinity(0)), _MOST_LOADERS)


def _to_load(clients: int, loaders: int, capacity: Capacity) -> Limit:
    there = f", {capacity.told}" if capacity.told else ""
    return Limit(
        "loaders",
        f"connections to load tables over ({clients} of clients and {loaders} loaders{there})",
        clients + loaders,
        capacity.connections,
        f"fewer loaders (`loaders` in [load], --loaders); or {capacity.cure}",
    )


def machine_needs(
    clients: int,
    machine: MachineLimits,
    *,
    processes: int,
    endpoints: Sequence[Mapping[str, Any]],
) -> Iterator[Limit]:
    """What so many clients need of this machine."""
    hosts = [endpoint["tcp"] for endpoint in endpoints if "tcp" in endpoint]
    yield Limit(
        "open-files",
        f"open files of an engine process ({processes} of them)",
        -(-clients // processes) + OWN_FILES,
        machine.open_files,
        "more --processes, or a higher hard limit: `ulimit -Hn`, LimitNOFILE, limits.conf",
    )
    yield Limit(
        "files-of-all",
        "open files of all processes",
        clients + processes * OWN_FILES,
        machine.files_of_all,
        "`sysctl fs.file-max` must be larger",
    )
    if hosts:
        places = len({(place["host"], place["port"]) for place in hosts})
        yield Limit(
            "ports",
            "local ports towards "
            + (f"each of {places} server addresses" if places > 1 else "the server's address"),
            -(-clients // places),
            machine.ports,
            "`sysctl -w net.ipv4.ip_local_port_range='1024 65535'`, more addresses of the server "
            "(`host=127.0.0.1,127.0.0.2`), or a Unix socket",
        )
    if all("unix" in endpoint or _is_here(endpoint["tcp"]["host"]) for endpoint in endpoints):
        yield Limit(
            "accept-queue",
            "connections made at a time (the kernel's queue)",
            _at_a_time(clients, None, processes),
            machine.accept_queue,
            "`sysctl -w net.core.somaxconn=4096`",
        )


def _at_a_time(clients: int, shards: int | None, processes: int) -> int:
    return min(clients, CONNECTORS * processes * (shards or len(os.sched_getaffinity(0))))


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _statements(group: Mapping[str, Any]) -> int:
    a_table, beside = _STATEMENTS.get(Path(group["script"]).stem, (0, 0))
    tables = group.get("options", {}).get("tables", 1)
    return int(group["clients"]) * (a_table * int(tables) + beside)
