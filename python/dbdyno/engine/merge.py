"""Merges the record streams of several engine processes into one.

Times are converted to the clock of the process that started first. An interval is passed on once
every process has reported it or a later one. Histograms are added; percentiles are never combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from typing import TypeVar

from dbdyno.formats.histograms import decode, encode, tag
from dbdyno.model import (
    Counters,
    CpuTime,
    EngineWarning,
    Fatal,
    Hello,
    HistogramRecord,
    Interval,
    Loaded,
    Output,
    Phase,
    PhaseName,
    Progress,
    Ready,
    Record,
    Summary,
    Turn,
)
from dbdyno.stats.histogram import merge_histograms

_RANKS: Mapping[PhaseName, int] = {
    "connect": 0,
    "warm-up": 1,
    "measure": 2,
    "drain": 3,
    "pause": 4,
    "finish": 5,
}

_Place = tuple[int, int]
"""The turns before, and the rank of the phase: the order of places in a run."""

_Key = tuple[_Place, int]
"""A place and an interval number."""

_BEFORE: _Place = (-1, -1)

_Sum = TypeVar("_Sum", Counters, CpuTime)


@dataclass(slots=True)
class _Part:
    """The records of one process so far."""

    hello: Hello | None = None
    is_ready: bool = False
    phase: _Place = _BEFORE
    reached: _Key = (_BEFORE, -1)
    progress: dict[str, Progress] = field(default_factory=dict)
    summary: Summary | None = None
    has_ended: bool = False


class Merger:
    """Takes the records of `count` processes one by one; returns those of the whole run."""

    def __init__(self, count: int) -> None:
        self._parts = [_Part() for _ in range(count)]
        self._phase = _BEFORE
        self._waiting: dict[_Key, list[Interval]] = {}
        self._turns: dict[int, list[Turn]] = {}
        self._windows_ns: list[int] = []
        self._handed_on = 0
        self._warned: set[str] = set()
        self._early: list[tuple[int, Record]] = []
        self._rows_of_tables: dict[str, int] = {}

    def take(self, index: int, record: Record) -> Iterator[Record]:
        """Takes a record of process `index`."""
        part = self._parts[index]
        if isinstance(record, Hello):
            part.hello = record
            if all(other.hello for other in self._parts):
                yield self._hello()
                early, self._early = self._early, []
                for sender, kept in early:
                    yield from self.take(sender, kept)
        elif isinstance(record, Fatal):
            yield record
        elif not all(other.hello for other in self._parts):
            self._early.append((index, record))
        else:
            offset_ns = self._offset_ns(part)
            yield from self._merged(part, moved(record, lambda at_ns: at_ns + offset_ns))

    def end(self, index: int) -> Iterator[Record]:
        """Notes that process `index` has ended: it is not waited for any more."""
        part = self._parts[index]
        part.has_ended = True
        yield from self._intervals()
        if all(other.has_ended for other in self._parts):
            for _, turns in sorted(self._turns.items()):
                yield self._turn(turns, whole=False)
            yield from (Loaded(table, rows) for table, rows in sorted(self._rows_of_tables.items()))
            found = [other.summary for other in self._parts if other.summary is not None]
            if found:
                yield self._summary(found)

    def _merged(self, part: _Part, record: Record) -> Iterator[Record]:
        match record:
            case Phase():
                part.phase = _behind(part.phase, _RANKS[record.phase])
                yield from self._phases(part, record)
            case Progress():
                part.progress[record.what] = record
                yield self._progress(record)
            case Ready():
                part.is_ready = True
                if all(other.is_ready for other in self._parts):
                    yield record
            case Interval():
                place = _behind(part.reached[0], _RANKS[record.phase])
                key = (place, record.index)
                part.reached = key
                self._waiting.setdefault(key, []).append(record)
                yield from self._intervals()
            case Turn():
                turns = self._turns.setdefault(record.index, [])
                turns.append(record)
                if len(turns) == len(self._parts):
                    yield self._turn(self._turns.pop(record.index), whole=True)
            case Summary():
                part.summary = record
            case EngineWarning():
                if record.code not in self._warned:
                    self._warned.add(record.code)
                    yield record
            case Loaded():
                before = self._rows_of_tables.get(record.table, 0)
                self._rows_of_tables[record.table] = before + record.rows
            case Output():
                yield record
            case _:
                pass

    def _turn(self, parts: Sequence[Turn], *, whole: bool) -> Turn:
        turn = _turn(parts, whole=whole)
        self._windows_ns.append(turn.end_ns - turn.measure_ns)
        return turn

    def _summary(self, parts: Sequence[Summary]) -> Summary:
        summary = _summary(parts, whole=len(parts) == len(self._parts))
        window_ns = summary.end_ns - summary.start_ns
        in_turns = sum(self._windows_ns) if self._windows_ns else window_ns
        return replace(summary, measured_ns=in_turns)

    def _offset_ns(self, part: _Part) -> int:
        starts = [other.hello.start_unix_ns for other in self._parts if other.hello]
        assert part.hello is not None, "it comes first"
        return part.hello.start_unix_ns - min(starts)

    def _hello(self) -> Hello:
        hellos = [part.hello for part in self._parts if part.hello is not None]
        first = min(hellos, key=lambda hello: hello.start_unix_ns)
        return replace(
            first,
            reactor=", ".join(dict.fromkeys(hello.reactor for hello in hellos)),
            scheduling=", ".join(dict.fromkeys(hello.scheduling for hello in hellos)),
            clock=", ".join(dict.fromkeys(hello.clock for hello in hellos)),
            shards=sum(hello.shards for hello in hellos),
            shards_bound=all(hello.shards_bound for hello in hellos),
        )

    def _phases(self, part: _Part, record: Phase) -> Iterator[Phase]:
        """The whole run enters a phase when the last process does."""
        open_parts = [other.phase for other in self._parts if not other.has_ended]
        if part.phase > self._phase and min(open_parts) >= part.phase:
            self._phase = part.phase
            yield record

    def _progress(self, record: Progress) -> Progress:
        known = [part.progress.get(record.what) for part in self._parts]
        received = [progress for progress in known if progress is not None]
        total = sum(progress.total for progress in received)
        return replace(
            record,
            done=sum(progress.done for progress in received),
            total=total if len(received) == len(known) else 0,
        )

    def _intervals(self) -> Iterator[Interval]:
        """Intervals that no process can add to any more."""
        reached = [part.reached for part in self._parts if not part.has_ended]
        for key in sorted(self._waiting):
            if any(other < key for other in reached):
                return
            yield _interval(self._waiting.pop(key), index=self._handed_on)
            self._handed_on += 1


def _behind(place: _Place, rank: int) -> _Place:
    """The next place of this rank; after a pause it belongs to another turn."""
    turns, before = place
    new_turn = before == _RANKS["pause"] and rank != before
    return (max(turns, 0) + new_turn, rank if new_turn else max(before, rank))


def moved(record: Record, to: Callable[[int], int]) -> Record:
    """The record with each of its times, counted from the engine's start, as `to` has it."""
    match record:
        case Phase() | Progress() | Ready():
            return replace(record, at_ns=to(record.at_ns))
        case Turn():
            return replace(
                record,
                begin_ns=to(record.begin_ns),
                measure_ns=to(record.measure_ns),
                end_ns=to(record.end_ns),
                drained_ns=to(record.drained_ns),
            )
        case Interval() | Summary():
            return replace(record, start_ns=to(record.start_ns), end_ns=to(record.end_ns))
        case _:
            return record


def _interval(parts: Sequence[Interval], *, index: int) -> Interval:
    return Interval(
        index=index,
        phase=parts[0].phase,
        start_ns=min(part.start_ns for part in parts),
        end_ns=max(part.end_ns for part in parts),
        clients=sum(part.clients for part in parts),
        busy=sum(part.busy for part in parts),
        turn=parts[0].turn,
        counters=_total(part.counters for part in parts),
        errors=_by_code(part.errors for part in parts),
        backlog=sum(part.backlog for part in parts),
        cpu=_total(part.cpu for part in parts),
        histograms=_histograms(part.histograms for part in parts),
    )


def _turn(parts: Sequence[Turn], *, whole: bool) -> Turn:
    return Turn(
        index=parts[0].index,
        begin_ns=min(part.begin_ns for part in parts),
        measure_ns=min(part.measure_ns for part in parts),
        end_ns=max(part.end_ns for part in parts),
        drained_ns=max(part.drained_ns for part in parts),
        interrupted=not whole or any(part.interrupted for part in parts),
        clients=sum(part.clients for part in parts),
        measured=_total(part.measured for part in parts),
        total=_total(part.total for part in parts),
        errors=_by_code(part.errors for part in parts),
        backlog=sum(part.backlog for part in parts),
        censored=sum(part.censored for part in parts),
        cpu=_total(part.cpu for part in parts),
        total_cpu=_total(part.total_cpu for part in parts),
        histograms=_histograms(part.histograms for part in parts),
    )


def _summary(parts: Sequence[Summary], *, whole: bool) -> Summary:
    return Summary(
        interrupted=not whole or any(part.interrupted for part in parts),
        start_ns=min(part.start_ns for part in parts),
        end_ns=max(part.end_ns for part in parts),
        measured=_total(part.measured for part in parts),
        total=_total(part.total for part in parts),
        errors=_by_code(part.errors for part in parts),
        cpu=_total(part.cpu for part in parts),
        rss_peak_kb=sum(part.rss_peak_kb for part in parts),
        rss_kb=sum(part.rss_kb for part in parts),
        clients=sum(part.clients for part in parts),
        histograms=_histograms(part.histograms for part in parts),
        backlog=sum(part.backlog for part in parts),
        censored=sum(part.censored for part in parts),
    )


def _total(parts: Iterable[_Sum]) -> _Sum:
    """Adds two records field by field."""

    def both(first: _Sum, second: _Sum) -> _Sum:
        names = [part.name for part in fields(first)]
        added = {name: add(getattr(first, name), getattr(second, name)) for name in names}
        return replace(first, **added)

    return reduce(both, parts)


def _by_code(parts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    added: dict[str, int] = {}
    for part in parts:
        for code, count in part.items():
            added[code] = added.get(code, 0) + count
    return dict(sorted(added.items()))


def _histograms(parts: Iterable[Sequence[HistogramRecord]]) -> tuple[HistogramRecord, ...]:
    groups: dict[str, list[HistogramRecord]] = {}
    for part in parts:
        for record in part:
            groups.setdefault(tag(record), []).append(record)
    return tuple(map(_histogram, groups.values()))


def _histogram(records: Sequence[HistogramRecord]) -> HistogramRecord:
    if len(records) == 1:
        return records[0]
    merged = merge_histograms(decode(record) for record in records)
    return encode(merged, records[0], out_of_range=sum(r.out_of_range for r in records))
