"""Opens a collector for each of several servers.

Readings of the first are like those of a single server. Readings of the others have the member's
name as their instance; those that have an instance already, such as a type of process, are left
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.model import Missing, Reading


@dataclass(frozen=True, slots=True)
class _EveryMember:
    first: Readings
    others: Mapping[str, Readings]

    def sample(self) -> Iterable[Reading]:
        for name, member in self.others.items():
            for reading in member.sample():
                if not reading.instance:
                    yield replace(reading, instance=name)
        # Last: what a replica has was in the primary's log before.
        yield from self.first.sample()

    def close(self) -> None:
        """Closes all of them."""
        for member in (self.first, *self.others.values()):
            member.close()


def opened(collector: Collector, watched: Watched) -> Readings | Missing | None:
    """As `Collector.open`; for every member if the collector is `by_member`."""
    first = collector.open(watched)
    if not collector.by_member or first is None or isinstance(first, Missing):
        return first
    others: dict[str, Readings] = {}
    for member in watched.members[1:]:
        readings = collector.open(replace(watched, ask=member.ask, members=()))
        if readings is not None and not isinstance(readings, Missing):
            others[member.name] = readings
    return _EveryMember(first, others) if others else first
