"""Pressure stall information: how long somebody waited for processor, memory or disk."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.tree import Tree
from dbdyno.model import Metric, Missing, Reading

_RESOURCES = ("cpu", "memory", "io")
_LEVELS = ("some", "full")


class _Pressure:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def sample(self) -> Iterable[Reading]:
        for resource in _RESOURCES:
            for line in (self._tree.text(f"proc/pressure/{resource}") or "").splitlines():
                level, *fields = line.split()
                total = dict(field.split("=") for field in fields)["total"]
                yield Reading(f"{level}_s", int(total) / 1e6, resource)

    def close(self) -> None:
        """Holds nothing."""


def _open(_watched: Watched) -> Readings | Missing | None:
    tree = Tree()
    if tree.text("proc/pressure/cpu") is None:
        return Missing(
            "the kernel keeps no pressure stall information",
            "boot the kernel with `psi=1`",
        )
    return _Pressure(tree)


COLLECTOR = Collector(
    "pressure",
    "host",
    (
        Metric("some_s", "s", "counter", "Time in which at least one task waited for the resource"),
        Metric("full_s", "s", "counter", "Time in which all tasks waited for the resource"),
    ),
    _open,
)
