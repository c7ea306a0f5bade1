"""Limits processors and memory of a server, and of its clients, by control groups.

Either version of them will do. The server's own processes are limited from their start; the
program that creates its data folder is not. Memory includes the page cache that the processes
fill, and swap is off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.errors import MachineError
from dbdyno.formats.quantities import parse_size
from dbdyno.guard import undo
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.cgroup import Hierarchy, find_hierarchy
from dbdyno.setters.setter import Applied, Facts, Scene, table

_PERIOD_US = 100_000
_LEAST_BYTES = 16 << 20
_KEYS = ("cpus", "memory")
LIMITS = "limits"
"""Its name in `[host]`."""
CLIENT = "client"
"""The key of the clients' own limits."""
_REPORTS = {
    1: {"memory": "memory.max_usage_in_bytes", "cpu": "cpu.stat"},
    2: {"memory": "memory.peak", "cpu": "cpu.stat"},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """`None`: unlimited."""

    cpus: float | None
    memory_bytes: int | None
    client: Limits | None = None
    """Those of the load generators; the others are the server's."""

    def controllers(self) -> tuple[str, ...]:
        """The controllers needed, without those that clients need."""
        asked = {"cpu": self.cpus, "memory": self.memory_bytes}
        return tuple(name for name, limit in asked.items() if limit is not None)

    def facts(self) -> Facts:
        """What is limited, without the clients."""
        asked = {"cpus": self.cpus, "memory_bytes": self.memory_bytes}
        return {name: limit for name, limit in asked.items() if limit is not None}


UNLIMITED = Limits(None, None)


@dataclass(slots=True)
class _Groups:
    """The control groups of one side, made when the limits are applied."""

    by_controller: dict[str, Path] = field(default_factory=dict)
    made: dict[Path, Hierarchy] = field(default_factory=dict)

    def make(self, value: Limits, name: str, guarded: Guarded) -> None:
        """Makes them, sets and checks their limits."""
        for controller in value.controllers():
            hierarchy = find_hierarchy(controller)
            assert hierarchy is not None, "missing() has looked for it"
            group = hierarchy.parent / name
            if group not in self.made:
                guarded.hold(undo.remove_cgroup(group))
                group.mkdir()
                self.made[group] = hierarchy
            self.by_controller[controller] = group
            for file, text in _files(controller, value, hierarchy.version, group):
                _set(group / file, text)

    def launch(self) -> Launch:
        """How processes join them."""
        return Launch(cgroups=tuple(map(str, self.made)))

    def look(self) -> Facts:
        """How close their processes came to the limits."""
        facts: dict[str, object] = {}
        for controller, group in self.by_controller.items():
            file = group / _REPORTS[self.made[group].version][controller]
            if not file.exists():
                continue
            text = file.read_text()
            if controller == "memory":
                facts["memory_peak_bytes"] = int(text)
                continue
            counts = dict(line.split() for line in text.splitlines())
            facts["cpu_periods"] = int(counts.get("nr_periods", 0))
            facts["cpu_periods_throttled"] = int(counts.get("nr_throttled", 0))
        return facts


class LimitsSetter:
    """A table of `cpus` (1.5 is one and a half) and `memory` ("512 MB"), and of the same in
    `client`."""

    name: ClassVar[str] = LIMITS

    def read(self, value: object) -> Limits:
        """Checks the value; memory in bytes."""
        asked = table(value, *_KEYS, CLIENT)
        own = _read(asked)
        if CLIENT not in asked:
            return own
        try:
            of_clients = _read(table(asked[CLIENT], *_KEYS))
        except ValueError as error:
            raise ValueError(f"`{CLIENT}`: {error}") from None
        return Limits(own.cpus, own.memory_bytes, of_clients)

    def missing(self, value: Limits) -> tuple[Missing, ...]:
        """Missing controllers, or permission to make a group."""
        of_clients = (value.client or UNLIMITED).controllers()
        lacking = []
        for controller in dict.fromkeys((*value.controllers(), *of_clients)):
            hierarchy = find_hierarchy(controller)
            if hierarchy is None:
                cure = "mount it, or have the groups above delegate it (cgroup.subtree_control)"
                lacking.append(Missing(f"no control group has the {controller} controller", cure))
            elif not os.access(hierarchy.parent, os.W_OK) or os.geteuid() != 0:
                message = f"{hierarchy.parent} does not let us make a control group"
                lacking.append(Missing(message, "run dbdyno as root, outside of a container"))
        return tuple(lacking)

    def apply(self, value: Limits, guarded: Guarded, _: Scene) -> Applied:
        """Makes the groups; server and clients will join them."""
        name = f"dbdyno-{os.getpid()}-{id(guarded):x}"
        server, client = _Groups(), _Groups()
        of_clients = value.client or UNLIMITED
        server.make(value, name, guarded)
        client.make(of_clients, f"{name}-{CLIENT}", guarded)
        made = [*server.made.values(), *client.made.values()]
        versions: Facts = {"version": [hierarchy.version for hierarchy in made]}
        return Applied(
            after={**versions, **value.facts(), **_of_clients(of_clients.facts())},
            server=server.launch(),
            client=client.launch(),
            witness=lambda _: {**server.look(), **_of_clients(client.look())},
        )


def _read(asked: Mapping[str, Any]) -> Limits:
    cpus = asked.get("cpus")
    if cpus is not None:
        good = isinstance(cpus, int | float) and not isinstance(cpus, bool)
        if not good or not 0.01 <= cpus <= 4096:
            raise ValueError(f"expected `cpus` from 0.01 to 4096; found {cpus!r}")
    memory = parse_size(asked["memory"]) if "memory" in asked else None
    if memory is not None and memory < _LEAST_BYTES:
        raise ValueError(f"expected `memory` of at least 16 MB; found {asked['memory']!r}")
    return Limits(None if cpus is None else float(cpus), memory)


def _of_clients(facts: Facts) -> Facts:
    return {f"{CLIENT}_{name}": value for name, value in facts.items()}


def _files(controller: str, value: Limits, version: int, group: Path) -> Sequence[tuple[str, str]]:
    """The files of a group's controller and the values to write."""
    if controller == "cpu":
        assert value.cpus is not None
        quota_us = max(1000, round(value.cpus * _PERIOD_US))
        if version == 2:
            return [("cpu.max", f"{quota_us} {_PERIOD_US}")]
        return [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota_us))]
    limit = str(value.memory_bytes)
    if version == 2:
        swap = [("memory.swap.max", "0")] if (group / "memory.swap.max").exists() else []
        return [("memory.max", limit), *swap]
    both = "memory.memsw.limit_in_bytes"
    return [("memory.limit_in_bytes", limit), *([(both, limit)] if (group / both).exists() else [])]


def _set(file: Path, text: str) -> None:
    """Memory is counted in pages: the value set may be a little below the one requested."""
    undo.write_text(file, text)
    now = undo.read_switch(file)
    if now != text and not (now.isdecimal() and 0 <= int(text) - int(now) < 1 << 16):
        raise MachineError(
            f"{file} says `{now}`, not `{text}`", hint="a group above it may have a lower limit"
        )


SETTER = LimitsSetter()
