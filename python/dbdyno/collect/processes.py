"""Processes of one side of a run, read from /proc and added up.

What has ended between two samples is kept in the sum, so that a counter never falls. What counts is
how often a file is read: the `stat` of each process of a side, and of each new one, once a sample
for all sides together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dbdyno.collect.tree import TICKS_PER_S

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MANY = 200
"""Processes from which only processor time and memory are read."""
_ALWAYS = ("user_s", "system_s")

COUNTERS = (
    ("user_s", "s", "Processor time in user mode"),
    ("system_s", "s", "Processor time in the kernel"),
    ("voluntary_switches", "", "Context switches to wait for something"),
    ("involuntary_switches", "", "Context switches with work left to do"),
    ("read_bytes", "B", "Bytes read from disks"),
    ("written_bytes", "B", "Bytes that went to disks, or will"),
)

Stat = Sequence[bytes]
"""Fields of a process's `stat` behind its name."""
_PARENT, USER, SYSTEM, THREADS, _RESIDENT = 1, 11, 12, 17, 21
_LARGEST_BYTES = 8192


def read_file(name: str) -> bytes:
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


class ProcessTable:
    """The processes there are, each read once."""

    def __init__(self, strangers: frozenset[int] = frozenset()) -> None:
        self.stats: dict[int, Stat] = {}
        self._strangers = strangers
        """Processes that were of no family at the last sample: they are not read again."""
        self._every: frozenset[int] = frozenset()
        self._members: set[int] = set()
        self._children: dict[int, list[int]] = {}

    def stat(self, pid: int) -> Stat | None:
        """Fields of a process's `stat`; `None` if it has ended."""
        if pid not in self.stats and (text := read_file(f"{pid}/stat")):
            self.stats[pid] = text.rpartition(b")")[2].split()
        return self.stats.get(pid)

    def family(self, pid: int) -> Sequence[int]:
        """A process, those it has made, and theirs."""
        if not self._children:
            with os.scandir("/proc") as entries:
                every = [int(entry.name) for entry in entries if entry.name.isdecimal()]
            self._every = frozenset(every)
            for child in every:
                if child not in self._strangers and (stat := self.stat(child)):
                    self._children.setdefault(int(stat[_PARENT]), []).append(child)
        family = [pid]
        for member in family:
            family += self._children.get(member, ())
        self._members.update(family)
        return family

    def read_all(self) -> None:
        """Forgets which processes are unrelated: a new family is wanted."""
        self._strangers = frozenset()
        self._children.clear()

    def strangers(self) -> frozenset[int]:
        """Those of no family that was asked for. None of them can come to belong to one, whose
        members make their own children, until `read_all`."""
        return self._every - self._members


@dataclass(slots=True)
class Families:
    """Processes that are looked for once; those they make are found at every look."""

    pids: Callable[[], Sequence[int]]
    """All of them, which takes as long as a look."""
    roots: Sequence[int] = ()

    def __call__(self, table: ProcessTable) -> Sequence[int]:
        if not self.roots or not all(map(table.stat, self.roots)):
            every = self.pids()
            parents = {pid: int(stat[_PARENT]) for pid in every if (stat := table.stat(pid))}
            if parents:
                table.read_all()
            self.roots = [pid for pid, parent in parents.items() if parent not in parents]
        return list(chain.from_iterable(map(table.family, self.roots)))


@dataclass(slots=True)
class Sums:
    """Counters of many processes or threads, added up."""

    last: dict[int, Mapping[str, float]] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    """What those that have ended came to."""

    def of(self, by_pid: Mapping[int, Mapping[str, float]]) -> Mapping[str, float]:
        """By name, of those found now and of all that ever were."""
        for gone in self.last.keys() - by_pid.keys():
            _add(self.ended, self.last.pop(gone))
        sums = dict(self.ended)
        for pid, counters in by_pid.items():
            before = self.last.get(pid, {})
            # One that ends while it is read says 0.
            self.last[pid] = {n: max(value, before.get(n, 0.0)) for n, value in counters.items()}
            _add(sums, self.last[pid])
        return sums


def _add(sums: dict[str, float], counters: Mapping[str, float]) -> None:
    for name, value in counters.items():
        sums[name] = sums.get(name, 0.0) + value


@dataclass(slots=True)
class Side:
    """All processes of one side."""

    pids: Callable[[ProcessTable], Sequence[int]]
    processes: Sums = field(default_factory=Sums)
    threads: Sums = field(default_factory=Sums)
    many: bool = False
    """Stays so: a counter that was not read for a while might fall."""

    def found(self, table: ProcessTable) -> Mapping[int, Stat]:
        """Its processes that there are."""
        return {pid: stat for pid in self.pids(table) if (stat := table.stat(pid))}

    def read(self, found: Mapping[int, Stat]) -> tuple[Mapping[str, float], int, int, int]:
        """Sums of the counters, resident bytes, processes and threads."""
        self.many = self.many or len(found) > _MANY
        resident = sum(int(stat[_RESIDENT]) * _PAGE_BYTES for stat in found.values())
        threads = sum(int(stat[THREADS]) for stat in found.values())
        sums = self.processes.of({pid: self._of_process(pid, stat) for pid, stat in found.items()})
        if self.many:
            kept = {name: value for name, value in sums.items() if name in _ALWAYS}
            return kept, resident, len(found), threads
        switches = {
            thread: _switches(path)
            for pid, stat in found.items()
            for thread, path in threads_of(pid, int(stat[THREADS]))
        }
        return {**sums, **self.threads.of(switches)}, resident, len(found), threads

    def _of_process(self, pid: int, stat: Stat) -> Mapping[str, float]:
        counters = {
            "user_s": int(stat[USER]) / TICKS_PER_S,
            "system_s": int(stat[SYSTEM]) / TICKS_PER_S,
        }
        return counters if self.many else counters | _traffic(pid)


def threads_of(pid: int, count: int) -> Sequence[tuple[int, str]]:
    """Each thread's number and folder."""
    if count == 1:
        return [(pid, f"{pid}")]
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            return [(int(task.name), f"{pid}/task/{task.name}") for task in tasks]
    except OSError:
        return []


def _switches(thread: str) -> Mapping[str, float]:
    text = read_file(f"{thread}/status")
    return {
        "voluntary_switches": _number(text, b"\nvoluntary_ctxt_switches:"),
        "involuntary_switches": _number(text, b"\nnonvoluntary_ctxt_switches:"),
    }


def _traffic(pid: int) -> dict[str, float]:
    text = b"\n" + read_file(f"{pid}/io")
    return {
        "read_bytes": _number(text, b"\nread_bytes:"),
        "written_bytes": _number(text, b"\nwrite_bytes:"),
    }


def _number(text: bytes, before: bytes) -> float:
    """The number after a name; 0 if the kernel does not list it."""
    behind = text.partition(before)[2].partition(b"\n")[0]
    return float(behind) if behind else 0.0
