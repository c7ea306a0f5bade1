"""Processor time, memory and disk traffic of each server of several: who did the work."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.processes import COUNTERS, Families, ProcessTable, Side
from dbdyno.model import Metric, Missing, Reading


class _Members:
    def __init__(self, watched: Watched) -> None:
        self._sides = {member.name: Side(Families(member.pids)) for member in watched.members}
        self._strangers: frozenset[int] = frozenset()

    def sample(self) -> Iterable[Reading]:
        table = ProcessTable(self._strangers)
        for name, side in self._sides.items():
            found = side.found(table)
            if not (found or side.processes.last or side.processes.ended):
                continue  # It runs elsewhere.
            sums, resident, *_ = side.read(found)
            for metric, value in sums.items():
                yield Reading(metric, value, name)
            yield Reading("resident_bytes", resident, name)
        self._strangers = table.strangers()

    def close(self) -> None:
        """Nothing to free: no file stays open."""


def _open(watched: Watched) -> Readings | Missing | None:
    return _Members(watched) if watched.members else None


COLLECTOR = Collector(
    "member",
    "run",
    (
        *(Metric(name, unit, "counter", text) for name, unit, text in COUNTERS),
        Metric("resident_bytes", "B", "gauge", "Resident memory, what is shared counted each time"),
    ),
    _open,
)
