"""Processor time, memory, disk traffic and context switches of server and client.

Processes of one side are summed: what has ended between two samples is kept in the sum, so that a
counter never falls. So are the server's threads of one name, whatever number it ends with. What
counts is how often a file is read: the `stat` of each process of a side, and of each new one, once
a sample for all sides together.
"""

from __future__ import annotations

import os
import re
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
_MANY_THREADS = 100
"""Threads of the server from which they are no longer told apart."""
_MANY_NAMES = 50
"""Names of threads; those of further ones are added up as `other`."""
_NUMBER = re.compile(r"[-_:# ]*\d+$")

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

    def __init__(self, strangers: frozenset[int] = frozenset()) -> None:
        self.stats: dict[int, _Stat] = {}
        self._strangers = strangers
        """Processes that were of no family at the last sample: they are not read again."""
        self._every: frozenset[int] = frozenset()
        self._members: set[int] = set()
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
class _Families:
    """Processes that are looked for once; those they make are found at every look."""

    pids: Callable[[], Sequence[int]]
    """All of them, which takes as long as a look."""
    roots: Sequence[int] = ()

    def __call__(self, table: _Table) -> Sequence[int]:
        if not self.roots or not all(map(table.stat, self.roots)):
            every = self.pids()
            parents = {pid: int(stat[_PARENT]) for pid in every if (stat := table.stat(pid))}
            if parents:
                table.read_all()
            self.roots = [pid for pid, parent in parents.items() if parent not in parents]
        return list(chain.from_iterable(map(table.family, self.roots)))


@dataclass(slots=True)
class _Sum:
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
class _Names:
    """Processor time of the threads of processes that have several, by name."""

    threads: _Sum = field(default_factory=_Sum)
    many: bool = False
    """Stays so, as in `_Side`."""
    _known: set[str] = field(default_factory=set)

    def read(self, processes: Mapping[int, _Stat]) -> Mapping[str, float]:
        """Seconds by name; empty where there were too many threads."""
        counts = {pid: int(stat[_THREADS]) for pid, stat in processes.items()}
        self.many = self.many or sum(counts.values()) > _MANY_THREADS
        if self.many:
            return {}
        threads = (
            one for pid, count in counts.items() if count > 1 for one in _threads(pid, count)
        )
        return self.threads.of({thread: self._of(thread, path) for thread, path in threads})

    def _of(self, thread: int, path: str) -> Mapping[str, float]:
        before, _, rest = _read(f"{path}/stat").rpartition(b")")
        if not rest:
            return self.threads.last.get(thread, {})
        stat = rest.split()
        used_s = (int(stat[_USER]) + int(stat[_SYSTEM])) / TICKS_PER_S
        # One that takes another name keeps its first: no name's sum may fall.
        kept = next(iter(self.threads.last.get(thread, {})), None)
        return {kept or self._name(before.partition(b"(")[2].decode(errors="replace")): used_s}

    def _name(self, thread_name: str) -> str:
        name = _NUMBER.sub("", thread_name) or thread_name
        if name not in self._known and len(self._known) == _MANY_NAMES:
            return "other"
        self._known.add(name)
        return name


@dataclass(slots=True)
class _Side:
    """All processes of one side."""

    pids: Callable[[_Table], Sequence[int]]
    processes: _Sum = field(default_factory=_Sum)
    threads: _Sum = field(default_factory=_Sum)
    many: bool = False
    """Stays so: a counter that was not read for a while might fall."""

    def found(self, table: _Table) -> Mapping[int, _Stat]:
        """Its processes that there are."""
        return {pid: stat for pid in self.pids(table) if (stat := table.stat(pid))}

    def read(self, found: Mapping[int, _Stat]) -> tuple[Mapping[str, float], int, int, int]:
        """Sums of the counters, resident bytes, processes and threads."""
        self.many = self.many or len(found) > _MANY
        resident = sum(int(stat[_RESIDENT]) * _PAGE_BYTES for stat in found.values())
        threads = sum(int(stat[_THREADS]) for stat in found.values())
        sums = self.processes.of({pid: self._of_process(pid, stat) for pid, stat in found.items()})
        if self.many:
            kept = {name: value for name, value in sums.items() if name in _ALWAYS}
            return kept, resident, len(found), threads
        switches = {
            thread: _switches(path)
            for pid, stat in found.items()
            for thread, path in _threads(pid, int(stat[_THREADS]))
        }
        return {**sums, **self.threads.of(switches)}, resident, len(found), threads

    def _of_process(self, pid: int, stat: _Stat) -> Mapping[str, float]:
        counters = {
            "user_s": int(stat[_USER]) / TICKS_PER_S,
            "system_s": int(stat[_SYSTEM]) / TICKS_PER_S,
        }
        return counters if self.many else counters | _traffic(pid)


def _threads(pid: int, count: int) -> Sequence[tuple[int, str]]:
    """Each thread's number and folder."""
    if count == 1:
        return [(pid, f"{pid}")]
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            return [(int(task.name), f"{pid}/task/{task.name}") for task in tasks]
    except OSError:
        return []


def _switches(thread: str) -> Mapping[str, float]:
    text = _read(f"{thread}/status")
    return {
        "voluntary_switches": _number(text, b"\nvoluntary_ctxt_switches:"),
        "involuntary_switches": _number(text, b"\nnonvoluntary_ctxt_switches:"),
    }


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
            "client": _Side(_Families(watched.client_pids)),
            "proxy": _Side(_Families(watched.proxy_pids)),
        }
        self._names = _Names()
        self._strangers: frozenset[int] = frozenset()

    def sample(self) -> Iterable[Reading]:
        table = _Table(self._strangers)
        for instance, side in self._sides.items():
            found = side.found(table)
            sums, resident, processes, threads = side.read(found)
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
            if instance == "server":
                for name, used_s in self._names.read(found).items():
                    yield Reading("thread_s", used_s, name)
        self._strangers = table.strangers()

    def close(self) -> None:
        """Nothing to free: no file stays open."""


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
        Metric(
            "thread_s",
            "s",
            "counter",
            f"Processor time of the server's threads, by name; up to {_MANY_THREADS} threads",
        ),
    ),
    _open,
)
