"""Limits a server's processors and memory by control groups of version 1 or 2.

The server's own processes are limited from their start; the program that creates its data folder
is not. Memory includes the page cache that the server fills, and swap is off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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
_CONTROLLERS = {"cpus": "cpu", "memory": "memory"}
_REPORTS = {
    1: {"memory": "memory.max_usage_in_bytes", "cpu": "cpu.stat"},
    2: {"memory": "memory.peak", "cpu": "cpu.stat"},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """`None`: unlimited."""

    cpus: float | None
    memory_bytes: int | None

    def controllers(self) -> tuple[str, ...]:
        """The controllers needed."""
        asked = {"cpu": self.cpus, "memory": self.memory_bytes}
        return tuple(name for name, limit in asked.items() if limit is not None)


class LimitsSetter:
    """A table of `cpus` (1.5 is one and a half) and `memory` ("512 MB")."""

    name: ClassVar[str] = "limits"

    def read(self, value: object) -> Limits:
        """Checks the value; memory in bytes."""
        asked = table(value, *_CONTROLLERS)
        cpus = asked.get("cpus")
        if cpus is not None:
            good = isinstance(cpus, int | float) and not isinstance(cpus, bool)
            if not good or not 0.01 <= cpus <= 4096:
                raise ValueError(f"expected `cpus` from 0.01 to 4096; found {cpus!r}")
        memory = parse_size(asked["memory"]) if "memory" in asked else None
        if memory is not None and memory < _LEAST_BYTES:
            raise ValueError(f"expected `memory` of at least 16 MB; found {asked['memory']!r}")
        return Limits(None if cpus is None else float(cpus), memory)

    def missing(self, value: Limits) -> tuple[Missing, ...]:
        """Missing controllers, or permission to make a group."""
        lacking = []
        for controller in value.controllers():
            hierarchy = find_hierarchy(controller)
            if hierarchy is None:
                cure = "mount it, or have the groups above delegate it (cgroup.subtree_control)"
                lacking.append(Missing(f"no control group has the {controller} controller", cure))
            elif not os.access(hierarchy.parent, os.W_OK) or os.geteuid() != 0:
                message = f"{hierarchy.parent} does not let us make a control group"
                lacking.append(Missing(message, "run dbdyno as root, outside of a container"))
        return tuple(lacking)

    def apply(self, value: Limits, guarded: Guarded, _: Scene) -> Applied:
        """Makes the groups, sets and checks their limits; the server will join them."""
        groups: dict[str, Path] = {}
        made: dict[Path, Hierarchy] = {}
        for controller in value.controllers():
            hierarchy = find_hierarchy(controller)
            assert hierarchy is not None, "missing() has looked for it"
            group = hierarchy.parent / f"dbdyno-{os.getpid()}-{id(guarded):x}"
            if group not in made:
                guarded.hold(undo.remove_cgroup(group))
                group.mkdir()
                made[group] = hierarchy
            groups[controller] = group
            for file, text in _files(controller, value, hierarchy.version, group):
                _set(group / file, text)
        after: dict[str, object] = {"version": [hierarchy.version for hierarchy in made.values()]}
        after |= {"cpus": value.cpus} if value.cpus is not None else {}
        after |= {"memory_bytes": value.memory_bytes} if value.memory_bytes is not None else {}
        return Applied(
            after=after,
            server=Launch(cgroups=tuple(map(str, made))),
            witness=_witness(groups, made),
        )


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


def _witness(
    groups: Mapping[str, Path], made: Mapping[Path, Hierarchy]
) -> Callable[[Sequence[int]], Facts]:
    """How close the server came to its limits."""

    def look(_: Sequence[int]) -> Facts:
        facts: dict[str, object] = {}
        for controller, group in groups.items():
            file = group / _REPORTS[made[group].version][controller]
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

    return look


SETTER = LimitsSetter()
