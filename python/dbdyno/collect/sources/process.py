"""Processor time, memory, disk traffic and context switches of server and client.

Processes of one side are summed: what has ended between two samples is kept in the sum, so that a
counter never falls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.tree import TICKS_PER_S, Tree
from dbdyno.model import Metric, Missing, Reading

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MANY = 200
"""Processes from which only processor time and memory are read: each file costs 10 to 20 µs."""

_COUNTERS = (
    ("user_s", "s", "Processor time in user mode"),
    ("system_s", "s", "Processor time in the kernel"),
    ("voluntary_switches", "", "Context switches to wait for something"),
    ("involuntary_switches", "", "Context switches with work left to do"),
    ("read_bytes", "B", "Bytes read from disks"),
    ("written_bytes", "B", "Bytes that went to disks, or will"),
)


@dataclass(slots=True)
class _Side:
    """All processes of one side: their last counters, and what ended ones came to."""

    pids: Callable[[], Sequence[int]]
    last: dict[int, dict[str, float]] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def read(self, tree: Tree) -> tuple[Mapping[str, float], int, int, int]:
        """Sums of the counters, resident bytes, processes and threads."""
        pids = self.pids()
        many = len(pids) > _MANY
        resident = threads = 0
        living: dict[int, dict[str, float]] = {}
        for pid in pids:
            stat = (tree.text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
            if not stat:
                continue
            threads += int(stat[17])
            resident += int(stat[21]) * _PAGE_BYTES
            counters = {
                "user_s": int(stat[11]) / TICKS_PER_S,
                "system_s": int(stat[12]) / TICKS_PER_S,
            }
            if not many:
                counters |= _switches(tree, pid) | _traffic(tree, pid)
            living[pid] = counters
        for pid, counters in self.last.items():
            if pid not in living:
                for name, value in counters.items():
                    self.ended[name] = self.ended.get(name, 0.0) + value
        self.last = living
        sums = dict(self.ended)
        for counters in living.values():
            for name, value in counters.items():
                sums[name] = sums.get(name, 0.0) + value
        return sums, resident, len(living), threads


def _switches(tree: Tree, pid: int) -> dict[str, float]:
    """Of all threads."""
    found = {"voluntary_switches": 0.0, "involuntary_switches": 0.0}
    try:
        tasks = [path.name for path in tree.path(f"proc/{pid}/task").iterdir()]
    except OSError:
        return found
    for task in tasks:
        fields = tree.fields(f"proc/{pid}/task/{task}/status")
        found["voluntary_switches"] += int(fields.get("voluntary_ctxt_switches", "0"))
        found["involuntary_switches"] += int(fields.get("nonvoluntary_ctxt_switches", "0"))
    return found


def _traffic(tree: Tree, pid: int) -> dict[str, float]:
    fields = tree.fields(f"proc/{pid}/io")
    return {
        "read_bytes": float(fields.get("read_bytes", "0")),
        "written_bytes": float(fields.get("write_bytes", "0")),
    }


class _Processes:
    def __init__(self, watched: Watched) -> None:
        self._tree = Tree()
        self._sides = {
            "server": _Side(watched.server_pids),
            "client": _Side(watched.client_pids),
            "proxy": _Side(watched.proxy_pids),
        }

    def sample(self) -> Iterable[Reading]:
        for instance, side in self._sides.items():
            sums, resident, processes, threads = side.read(self._tree)
            if instance == "client":
                # Its processes are started later, for a step: until then they have used nothing.
                sums = {name: 0.0 for name, *_ in _COUNTERS} | dict(sums)
            if not sums:
                continue
            for name, value in sums.items():
                yield Reading(name, value, instance)
            yield Reading("resident_bytes", resident, instance)
            yield Reading("processes", processes, instance)
            yield Reading("threads", threads, instance)

    def close(self) -> None:
        """Holds nothing."""


def _open(watched: Watched) -> Readings | Missing | None:
    return _Processes(watched)


COLLECTOR = Collector(
    "process",
    "run",
    (
        *(Metric(name, unit, "counter", text) for name, unit, text in _COUNTERS),
        Metric("resident_bytes", "B", "gauge", "Resident memory, what is shared counted each time"),
        Metric("processes", "", "gauge", "Processes"),
        Metric("threads", "", "gauge", "Threads"),
    ),
    _open,
)
