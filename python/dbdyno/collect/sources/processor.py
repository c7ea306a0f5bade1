"""Processor time by class and core, run queue and context switches, from /proc/stat."""

from __future__ import annotations

import os
from collections.abc import Iterable

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.tree import Tree
from dbdyno.model import Metric, Missing, Reading

_CLASSES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class _Processor:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def sample(self) -> Iterable[Reading]:
        for line in (self._tree.text("proc/stat") or "").splitlines():
            name, *values = line.split()
            if name.startswith("cpu"):
                instance = name.removeprefix("cpu")
                for kind, value in zip(_CLASSES, values, strict=False):
                    yield Reading(f"{kind}_s", int(value) / _TICKS_PER_S, instance)
            elif name == "ctxt":
                yield Reading("context_switches", int(values[0]))
            elif name == "processes":
                yield Reading("forks", int(values[0]))
            elif name == "procs_running":
                yield Reading("running", int(values[0]))
            elif name == "procs_blocked":
                yield Reading("blocked", int(values[0]))

    def close(self) -> None:
        """Holds nothing."""


def _open(_watched: Watched) -> Readings | Missing | None:
    tree = Tree()
    if tree.text("proc/stat") is None:
        return Missing("/proc/stat can't be read", "mount /proc in this container")
    return _Processor(tree)


COLLECTOR = Collector(
    "processor",
    "host",
    (
        *(
            Metric(f"{kind}_s", "s", "counter", f"Processor time, {kind}; by core, and in all")
            for kind in _CLASSES
        ),
        Metric("context_switches", "", "counter", "Context switches of the whole machine"),
        Metric("forks", "", "counter", "Processes and threads made"),
        Metric("running", "threads", "gauge", "Threads that run or wait for a processor"),
        Metric("blocked", "threads", "gauge", "Threads that wait for a disk"),
    ),
    _open,
)
