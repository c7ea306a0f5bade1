"""Block devices: operations, bytes, flushes, time and depth, from /proc/diskstats.

Whole devices, no partitions. What a loop device or a mapping does shows once more in the device
below it, so a sum over all instances counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.collect.collector import of_the_kernel
from dbdyno.collect.tree import Tree
from dbdyno.model import Metric, Missing, Reading

_SECTOR_BYTES = 512
_FIELDS = (
    # Place in the line after the name, metric, unit, factor, text.
    (0, "reads", "", 1, "Reads that ended"),
    (2, "read_bytes", "B", _SECTOR_BYTES, "Bytes read"),
    (3, "read_s", "s", 0.001, "Time of all reads together"),
    (4, "writes", "", 1, "Writes that ended"),
    (6, "written_bytes", "B", _SECTOR_BYTES, "Bytes written"),
    (7, "write_s", "s", 0.001, "Time of all writes together"),
    (9, "busy_s", "s", 0.001, "Time with at least one operation in flight"),
    (15, "flushes", "", 1, "Flushes of the device's cache that ended"),
    (16, "flush_s", "s", 0.001, "Time of all flushes together"),
)
_IN_FLIGHT = 8


def _read(tree: Tree) -> Iterable[Reading]:
    for line in (tree.text("proc/diskstats") or "").splitlines():
        _, _, name, *values = line.split()
        if not any(value != "0" for value in values) or not _is_whole(tree, name):
            continue
        for place, metric, _, factor, _ in _FIELDS:
            if place < len(values):
                yield Reading(metric, int(values[place]) * factor, name)
        yield Reading("in_flight", int(values[_IN_FLIGHT]), name)


def _is_whole(tree: Tree, name: str) -> bool:
    """A partition has no folder of its own in /sys/block."""
    return tree.path(f"sys/block/{name}").exists()


COLLECTOR = of_the_kernel(
    "disk",
    (
        *(Metric(name, unit, "counter", text) for _, name, unit, _, text in _FIELDS),
        Metric("in_flight", "", "gauge", "Operations in flight"),
    ),
    _read,
    needs="proc/diskstats",
    missing=Missing("/proc/diskstats shows no disk", "run outside of a container to see disks"),
)
