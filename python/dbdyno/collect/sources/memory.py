"""Memory, paging and huge pages, from /proc/meminfo and /proc/vmstat."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dbdyno.collect.collector import of_the_kernel
from dbdyno.collect.tree import Tree
from dbdyno.model import Metric, Missing, Reading

_FIELDS = {
    "MemFree": ("free", "Free memory"),
    "MemAvailable": ("available", "Memory that can be had without paging"),
    "Cached": ("page_cache", "The page cache, shared memory included"),
    "Dirty": ("dirty", "Pages to be written"),
    "Writeback": ("writeback", "Pages being written"),
    "AnonHugePages": ("anonymous_huge", "Private memory in huge pages"),
    "ShmemPmdMapped": ("shared_huge", "Shared memory mapped in huge pages"),
    "SwapFree": ("swap_free", "Free swap"),
}
_EVENTS = {
    "pgfault": ("page_faults", "Page faults"),
    "pgmajfault": ("major_faults", "Page faults that read from a disk"),
    "pswpin": ("swapped_in", "Pages read from swap"),
    "pswpout": ("swapped_out", "Pages written to swap"),
    "thp_fault_alloc": ("huge_page_faults", "Page faults answered with a huge page"),
    "thp_split_page": ("huge_page_splits", "Huge pages taken apart"),
    "compact_stall": ("compaction_stalls", "Allocations that waited for compaction"),
}
_EVENT = re.compile(rf"^({'|'.join(_EVENTS)}) (\d+)$", re.MULTILINE)


def _read(tree: Tree) -> Iterable[Reading]:
    info = tree.fields("proc/meminfo")
    for name, (metric, _) in _FIELDS.items():
        if name in info:
            yield Reading(f"{metric}_bytes", int(info[name].split()[0]) * 1024)
    for name, value in _EVENT.findall(tree.text("proc/vmstat") or ""):
        yield Reading(_EVENTS[name][0], int(value))


COLLECTOR = of_the_kernel(
    "memory",
    (
        *(Metric(f"{name}_bytes", "B", "gauge", text) for name, text in _FIELDS.values()),
        *(Metric(name, "", "counter", text) for name, text in _EVENTS.values()),
    ),
    _read,
    needs="proc/meminfo",
    missing=Missing("/proc/meminfo can't be read", "mount /proc in this container"),
)
