"""Processor time, memory, disk traffic and context switches of server and client.

Processes of one side are summed: what has ended between two samples is kept in the sum, so that a
counter never falls. With thousands of them what counts is how often a file is read: every process's
`stat` once a sample, for all sides together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.tree import TICKS_PER_S
from dbdyno.model import Metric, Missing, Reading

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MANY = 200
"""Processes from which only processor time and memory are read."""
_ALWAYS = ("user_s", "system_s")

_COUNTERS = (
    ("user_s", "s", "Processor time in user mode"),
    ("system_s", "s", "Processor time in the kernel"),
    ("voluntary_switches", "", "Context switches to wait for something"),
    ("involuntary_switches", "", "Context switches with work left to do"),
    ("read_bytes", "B", "Bytes read from disks"),
    ("written_bytes", "B", "Bytes that went to disks, or will"),
)

_Stat = Sequence[bytes]
"""Fields of a process's `stat` behind its name."""
_PARENT, _USER, _SYSTEM, _THREADS, _RESIDENT = 1, 11, 12, 17, 21
_LARGEST_BYTES = 8192


def _read(name: str) -> bytes:
    """A small file below /proc, empty where it is gone or hidden; a third of what `Tree` takes."""
    try:
        file = os.open(f"/proc/{name}", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, _LARGEST_BYTES)
    except OSError:  # It has ended since.
        return b""
    finally:
        os.close(file)


class _Table:
    """The processes there are, each read once."""

    def __init__(self) -> None:
        self.stats: dict[int, _Stat] = {}
        self._children: dict[int, list[int]] = {}

    def stat(self, pid: int) -> _Stat | None:
        """Of one process."""
        if pid not in self.stats and (text := _read(f"{pid}/stat")):
            self.stats[pid] = text.rpartition(b")")[2].split()
        return self.stats.get(pid)

    def family(self, pid: int) -> Sequence[int]:
        """A process, those it has made, and theirs."""
        if not self._children:
            with os.scandir("/proc") as entries:
                every = [int(entry.name) for entry in entries if entry.name.isdecimal()]
            for child in every:
                if stat := self.stat(child):
                    self._children.setdefault(int(stat[_PARENT]), []).append(child)
        family = [pid]
        for member in family:
            family += self._children.get(member, ())
        return family


@dataclass(slots=True)
class _Families:
    """Processes that are looked for once; those they make are found at every look."""

    pids: Callable[[], Sequence[int]]
    """All of them, which takes as long as a look."""
    roots: Sequence[int] = ()

    def __call__(self, table: _Table) -> Sequence[int]:
        if not self.roots or not all(map(table.stat, self.roots)):
            every = self.pids()
            parents = {pid: int(stat[_PARENT]) for pid in every if (stat := table.stat(pid))}
            self.roots = [pid for pid, parent in parents.items() if parent not in parents]
        return list(chain.from_iterable(map(table.family, self.roots)))


@dataclass(slots=True)
class _Side:
    """All processes of one side: their last counters, and what ended ones came to."""

    pids: Callable[[_Table], Sequence[int]]
    last: dict[int, dict[str, float]] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    many: bool = False
    """Stays so: a counter that was not read for a while might fall."""

    def read(self, table: _Table) -> tuple[Mapping[str, float], int, int, int]:
        """Sums of the counters, resident bytes, processes and threads."""
        pids = self.pids(table)
        self.many = self.many or len(pids) > _MANY
        resident = threads = 0
        living: dict[int, dict[str, float]] = {}
        for pid in pids:
            stat = table.stat(pid)
            if not stat:
                continue
            threads += int(stat[_THREADS])
            resident += int(stat[_RESIDENT]) * _PAGE_BYTES
            counters = {
                "user_s": int(stat[_USER]) / TICKS_PER_S,
                "system_s": int(stat[_SYSTEM]) / TICKS_PER_S,
            }
            if not self.many:
                counters |= _switches(pid, int(stat[_THREADS])) | _traffic(pid)
            living[pid] = counters
        for pid, counters in self.last.items():
            if pid not in living:
                for name, value in counters.items():
                    self.ended[name] = self.ended.get(name, 0.0) + value
        self.last = living
        sums: dict[str, float] = {}
        for counters in (self.ended, *living.values()):
            for name, value in counters.items():
                if name in _ALWAYS or not self.many:
                    sums[name] = sums.get(name, 0.0) + value
        return sums, resident, len(living), threads


def _switches(pid: int, threads: int) -> dict[str, float]:
    """Of all threads."""
    statuses = [f"{pid}/status"]
    if threads > 1:
        try:
            with os.scandir(f"/proc/{pid}/task") as tasks:
                statuses = [f"{pid}/task/{task.name}/status" for task in tasks]
        except OSError:
            statuses = []
    found = {"voluntary_switches": 0.0, "involuntary_switches": 0.0}
    for text in map(_read, statuses):
        found["voluntary_switches"] += _number(text, b"\nvoluntary_ctxt_switches:")
        found["involuntary_switches"] += _number(text, b"\nnonvoluntary_ctxt_switches:")
    return found


def _traffic(pid: int) -> dict[str, float]:
    text = b"\n" + _read(f"{pid}/io")
    return {
        "read_bytes": _number(text, b"\nread_bytes:"),
        "written_bytes": _number(text, b"\nwrite_bytes:"),
    }


def _number(text: bytes, before: bytes) -> float:
    """What stands behind a name, 0 where it is not told."""
    behind = text.partition(before)[2].partition(b"\n")[0]
    return float(behind) if behind else 0.0


class _Processes:
    def __init__(self, watched: Watched) -> None:
        self._sides = {
            "server": _Side(_Families(watched.server_pids)),
            "client": _Side(lambda _: watched.client_pids()),
            "proxy": _Side(_Families(watched.proxy_pids)),
        }

    def sample(self) -> Iterable[Reading]:
        table = _Table()
        for instance, side in self._sides.items():
            sums, resident, processes, threads = side.read(table)
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
