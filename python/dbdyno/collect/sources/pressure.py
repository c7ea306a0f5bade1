"""Pressure stall information: how long tasks waited for processor, memory or disk."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.collect.collector import of_the_kernel
from dbdyno.collect.tree import Tree
from dbdyno.model import Metric, Missing, Reading

_RESOURCES = ("cpu", "memory", "io")
_LEVELS = ("some", "full")


def _read(tree: Tree) -> Iterable[Reading]:
    for resource in _RESOURCES:
        for line in (tree.text(f"proc/pressure/{resource}") or "").splitlines():
            level, *fields = line.split()
            total = dict(field.split("=") for field in fields)["total"]
            yield Reading(f"{level}_s", int(total) / 1e6, resource)


COLLECTOR = of_the_kernel(
    "pressure",
    (
        Metric("some_s", "s", "counter", "Time in which at least one task waited for the resource"),
        Metric("full_s", "s", "counter", "Time in which all tasks waited for the resource"),
    ),
    _read,
    needs="proc/pressure/cpu",
    missing=Missing(
        "the kernel keeps no pressure stall information", "boot the kernel with `psi=1`"
    ),
)
