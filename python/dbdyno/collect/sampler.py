"""Samples every collector once a second, each in a thread of its own, on one clock.

A source that is slow to answer never delays another and never has two questions open: the seconds
it misses are gaps. One whose samples cost much, or whose server is idle, is sampled more rarely
(`pace.py`). Samples are stamped with the wall clock when the reading ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.collect import by_member
from dbdyno.collect.collector import Collector, InPart, Readings, Watched
from dbdyno.collect.pace import PERIOD_S, Pace
from dbdyno.collect.served import Served, total_s
from dbdyno.errors import LabError
from dbdyno.model import Metric, Missing, Sample

EDGE_LIMIT_S = 0.5
"""How long an edge waits for slow sources."""
_JOIN_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What sampling took."""

    cpu_s: float
    """Of the lab's own threads, and of programs that a collector runs."""
    server_cpu_s: float | None
    """Of the server, for the source's queries; `None`: not known."""
    samples: int
    gaps: int
    """Seconds without a sample: the source was slow or failed."""
    missed_unix_s: tuple[tuple[float, float], ...]
    """Stretches from when a sample was due to when the source had given one; seconds since 1970."""
    period_s: float
    """At most so long between two samples under load, on purpose."""
    failure: str | None
    """The last one's message."""


Keep = Callable[[Sequence[Sample]], None]
"""Gets what a source has read at one instant, in that source's thread."""


def _nowhere(_: Sequence[Sample]) -> None:
    """Keeps nothing beside what the sampler itself does."""


@dataclass(slots=True)
class _Programs:
    """The account of what a collector runs."""

    cpu_s: float = 0.0

    def add(self, cpu_s: float) -> None:
        self.cpu_s += cpu_s


@dataclass(slots=True)
class _Taken:
    """What a source has read."""

    keep: Keep
    samples: list[Sample] = field(default_factory=list)

    def add(self, fresh: Sequence[Sample]) -> None:
        self.samples += fresh
        self.keep(fresh)


@dataclass(slots=True)
class _Gaps:
    """The seconds without a sample."""

    seconds: int = 0
    stretches: list[tuple[float, float]] = field(default_factory=list)
    """From when a sample was due to when the source had given one; seconds since 1970."""
    silent: bool = False
    """Whether the last sample failed."""

    def failed(self, due_s: float, now_s: float) -> None:
        """Notes a sample that could not be taken."""
        self.seconds += 1
        self._note(due_s, now_s, failed=True)

    def taken(self, due_s: float, now_s: float) -> None:
        """Notes a sample, which may be late."""
        self.seconds += int((now_s - due_s) // PERIOD_S)
        self._note(due_s, now_s, failed=False)

    def _note(self, due_s: float, now_s: float, *, failed: bool) -> None:
        """A sample that failed, came a second late, or was the first after one that failed is in a
        stretch. Stretches less than a second apart are one."""
        if self.silent or failed or now_s - due_s >= PERIOD_S:
            last = self.stretches[-1:]
            if last and (self.silent or due_s - last[0][1] < PERIOD_S):
                self.stretches[-1] = last[0][0], now_s
            else:
                self.stretches.append((due_s, now_s))
        self.silent = failed


@dataclass(slots=True)
class _Source:
    """One collector while it is sampled."""

    collector: Collector
    readings: Readings
    served: Served
    programs: _Programs
    read: _Taken
    pace: Pace = field(default_factory=Pace)
    wake: threading.Event = field(default_factory=threading.Event)
    taken: threading.Event = field(default_factory=threading.Event)
    ended: bool = False
    count: int = 0
    gaps: _Gaps = field(default_factory=_Gaps)
    cpu_s: float = 0.0
    failure: str | None = None
    thread: threading.Thread | None = None

    def work(self) -> None:
        """Until told to end: at whole seconds, and when woken for an edge."""
        due_s = time.time()
        while not self.ended:
            before_s = self._spent_s()
            self._sample(due_s)
            self.taken.set()
            self.pace.sampled(self._spent_s() - before_s)
            now_s = time.time()
            due_s = self.pace.due_s(now_s)
            if self.wake.wait(due_s - now_s):
                self.wake.clear()
                due_s = time.time()
        self.cpu_s = self._own_s()

    def _own_s(self) -> float:
        return time.thread_time() + self.programs.cpu_s

    def _spent_s(self) -> float:
        """By this thread, its programs and those that serve it, so far."""
        return self._own_s() + (self.served.cpu_s() or 0.0)

    def _sample(self, due_s: float) -> None:
        known = {metric.name for metric in self.collector.metrics}
        try:
            read = list(self.readings.sample())
            self.served.look()
        except (LabError, OSError) as error:
            self.failure = error.message if isinstance(error, LabError) else str(error)
            self.gaps.failed(due_s, time.time())
            return
        now = time.time_ns()
        self.gaps.taken(due_s, now / 1e9)
        self.count += 1
        assert {reading.metric for reading in read} <= known, "a metric that is not declared"
        fresh = [
            Sample(
                now, self.collector.source, reading.metric, reading.instance, float(reading.value)
            )
            for reading in read
        ]
        self.read.add(fresh)


class Sampler:
    """Collectors at work; use as a context manager. What they read stays after the block, and
    goes to `keep` at once."""

    def __init__(
        self, collectors: Iterable[Collector], watched: Watched, *, keep: Keep = _nowhere
    ) -> None:
        self.missing: dict[str, Missing] = {}
        """Source → why it, or some of its metrics, can't be read here."""
        self._sources: list[_Source] = []
        for collector in collectors:
            served = Served(watched.ask)
            programs = _Programs()
            accounted = replace(
                watched,
                ask=served.ask,
                inside=served.asking(watched.inside),
                members=[replace(m, ask=served.asking(m.ask)) for m in watched.members],
                spend=programs.add,
            )
            opened = by_member.opened(collector, accounted)
            if isinstance(opened, Missing):
                self.missing[collector.source] = opened
                continue
            if isinstance(opened, InPart) and opened.lacks is not None:
                self.missing[collector.source] = opened.lacks
            if opened is not None:
                self._sources.append(_Source(collector, opened, served, programs, _Taken(keep)))

    def __enter__(self) -> Sampler:
        for source in self._sources:
            name = f"collect-{source.collector.source}"
            source.thread = threading.Thread(target=source.work, name=name, daemon=True)
            source.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for source in self._sources:
            source.ended = True
            source.wake.set()
        for source in self._sources:
            assert source.thread is not None
            source.thread.join(_JOIN_LIMIT_S)
            if not source.thread.is_alive():
                source.readings.close()

    def edge(self, *, idle: bool = False) -> None:
        """Samples every source now, at the edge of a window or turn; slow ones are not waited for
        longer than half a second. `idle`: no load follows, so that samples are rare until the next
        edge."""
        for source in self._sources:
            source.pace.idle = idle
            source.taken.clear()
            source.wake.set()
        deadline = time.monotonic() + EDGE_LIMIT_S
        for source in self._sources:
            source.taken.wait(max(0.0, deadline - time.monotonic()))

    def samples(self) -> list[Sample]:
        """Everything read so far, source by source, each in order of time."""
        return [sample for source in self._sources for sample in list(source.read.samples)]

    def metrics(self) -> Mapping[str, Sequence[Metric]]:
        """Source → the metrics it may give."""
        return {s.collector.source: s.collector.metrics for s in self._sources}

    def programs_cpu_s(self) -> float:
        """What programs that collectors run have taken so far, seconds."""
        return sum(source.programs.cpu_s for source in self._sources)

    def server_cpu_s(self) -> float | None:
        """What the queries of all sources have cost the server so far; `None`: not known."""
        return total_s(source.served.cpu_s() for source in self._sources)

    def costs(self) -> Mapping[str, Cost]:
        """Source → what it took; complete after the block."""
        return {
            source.collector.source: Cost(
                cpu_s=source.cpu_s,
                server_cpu_s=source.served.cpu_s(),
                samples=source.count,
                gaps=source.gaps.seconds,
                missed_unix_s=tuple(source.gaps.stretches),
                period_s=source.pace.longest_s,
                failure=source.failure,
            )
            for source in self._sources
        }
