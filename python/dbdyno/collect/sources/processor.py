"""Processor time by class and core, run queue and context switches, from /proc/stat."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.collect.collector import of_the_kernel
from dbdyno.collect.tree import TICKS_PER_S, Tree
from dbdyno.model import Metric, Missing, Reading

_CLASSES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def _read(tree: Tree) -> Iterable[Reading]:
    for line in (tree.text("proc/stat") or "").splitlines():
        name, *values = line.split()
        if name.startswith("cpu"):
            instance = name.removeprefix("cpu")
            for kind, value in zip(_CLASSES, values, strict=False):
                yield Reading(f"{kind}_s", int(value) / TICKS_PER_S, instance)
        elif name == "ctxt":
            yield Reading("context_switches", int(values[0]))
        elif name == "processes":
            yield Reading("forks", int(values[0]))
        elif name == "procs_running":
            yield Reading("running", int(values[0]))
        elif name == "procs_blocked":
            yield Reading("blocked", int(values[0]))


COLLECTOR = of_the_kernel(
    "processor",
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
    _read,
    needs="proc/stat",
    missing=Missing("/proc/stat can't be read", "mount /proc in this container"),
)
