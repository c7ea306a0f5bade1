"""Processor time, memory, disk traffic and context switches of server and client.

Processes of one side are summed: what has ended between two samples is kept in the sum, so that a
counter never falls. So are the server's threads of one name, whatever number it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.processes import (
    COUNTERS,
    SYSTEM,
    THREADS,
    USER,
    Families,
    ProcessTable,
    Side,
    Stat,
    Sums,
    read_file,
    threads_of,
)
from dbdyno.collect.tree import TICKS_PER_S
from dbdyno.model import Metric, Missing, Reading

_MANY_THREADS = 100
"""Threads of the server from which they are no longer told apart."""
_MANY_NAMES = 50
"""Names of threads; those of further ones are added up as `other`."""
_NUMBER = re.compile(r"[-_:# ]*\d+$")


@dataclass(slots=True)
class _Names:
    """Processor time of the threads of processes that have several, by name."""

    threads: Sums = field(default_factory=Sums)
    many: bool = False
    """Stays so, as in `Side`."""
    _known: set[str] = field(default_factory=set)

    def read(self, processes: Mapping[int, Stat]) -> Mapping[str, float]:
        """Seconds by name; empty where there were too many threads."""
        counts = {pid: int(stat[THREADS]) for pid, stat in processes.items()}
        self.many = self.many or sum(counts.values()) > _MANY_THREADS
        if self.many:
            return {}
        threads = (
            thread
            for pid, count in counts.items()
            if count > 1
            for thread in threads_of(pid, count)
        )
        return self.threads.of({thread: self._of(thread, path) for thread, path in threads})

    def _of(self, thread: int, path: str) -> Mapping[str, float]:
        before, _, rest = read_file(f"{path}/stat").rpartition(b")")
        if not rest:
            return self.threads.last.get(thread, {})
        stat = rest.split()
        used_s = (int(stat[USER]) + int(stat[SYSTEM])) / TICKS_PER_S
        # One that takes another name keeps its first: no name's sum may fall.
        kept = next(iter(self.threads.last.get(thread, {})), None)
        return {kept or self._name(before.partition(b"(")[2].decode(errors="replace")): used_s}

    def _name(self, thread_name: str) -> str:
        name = _NUMBER.sub("", thread_name) or thread_name
        if name not in self._known and len(self._known) == _MANY_NAMES:
            return "other"
        self._known.add(name)
        return name


class _Processes:
    def __init__(self, watched: Watched) -> None:
        self._sides = {
            "server": Side(Families(watched.server_pids)),
            "client": Side(Families(watched.client_pids)),
            "proxy": Side(Families(watched.proxy_pids)),
        }
        self._names = _Names()
        self._strangers: frozenset[int] = frozenset()

    def sample(self) -> Iterable[Reading]:
        table = ProcessTable(self._strangers)
        for instance, side in self._sides.items():
            found = side.found(table)
            sums, resident, processes, threads = side.read(found)
            if instance == "client":
                # Its processes are started later, for a step: until then they have used nothing.
                sums = {name: 0.0 for name, *_ in COUNTERS} | dict(sums)
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
        *(Metric(name, unit, "counter", text) for name, unit, text in COUNTERS),
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
