"""Stalls named by the engine's own cycles, where its counters were sampled and say so.

A cycle is named if most of the stall's seconds fall into it, and if the window's stalls as a whole
coincide with it more than chance does (`stats/coincidence.py`). A coincidence is no proof: a slow
disk makes both. What was not sampled, or only every few seconds, is not named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.report.analysis.timeline import Span, spans
from dbdyno.report.material.material import RunMaterial, SampleSeries
from dbdyno.stats import Dip
from dbdyno.stats.coincidence import coincidence_p

Instants = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEVEL = 0.05
"""Of all cycles that a run's counters can show together."""
MOST_OF_IT = 0.5
"""Least share of a stall's seconds within the cycle that it is named by."""
FAR_NS = 3_000_000_000
"""Samples further apart say nothing of the seconds between them."""
LEAST_KNOWN = 0.8
"""Share of the window's intervals of which a cycle must be known."""
NEARLY_FULL = 0.75
"""Share of the redo log from which InnoDB flushes to make room in it, whatever its version."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """What an engine does now and then."""

    name: str
    source: str
    metric: str
    at_least: Callable[[RunMaterial], float | None] | None = None
    """Of a gauge: from which value on; of a counter `None`: whenever it grows."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stall of one block, and what it coincides with."""

    event: Dip
    cycle: str | None
    """`None`: nothing that was sampled explains it."""
    p: float | None
    """Of the coincidence, by the window; before it is held against the number of cycles."""


def _nearly_full(run: RunMaterial) -> float | None:
    """Bytes of redo from which InnoDB must flush; `None` if the settings don't say."""
    settings = run.settings
    capacity = settings.get("innodb_redo_log_capacity")
    if capacity is None and "innodb_log_file_size" in settings:
        files = settings.get("innodb_log_files_in_group", "1")
        capacity = str(_number(settings["innodb_log_file_size"]) * max(1.0, _number(files)))
    found = _number(capacity or "")
    return NEARLY_FULL * found if found > 0 else None


def _number(text: str) -> float:
    """0 for what is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0


CYCLES = (
    Cycle("a checkpoint", "postgresql", "checkpoint_blocks"),
    Cycle("flushing for room in the redo log", "mysql", "checkpoint_age_bytes", _nearly_full),
    Cycle("waits for a free page", "mysql", "pool_waits"),
    Cycle("waits for the log buffer", "mysql", "redo_waits"),
)


def stalls(analysis: Analysis) -> Iterator[tuple[Point, BlockFigures, tuple[Stall, ...]]]:
    """All stalls, block by block of each point, in the order of time; blocks without one are left
    out."""
    for point, there in spans(analysis):
        by_run = {span.run.manifest.id: span for span in there}
        for figures in point.blocks:
            span = by_run.get(figures.run_id)
            if span is not None and figures.stability.stalls:
                yield point, figures, named(span, figures.stability.stalls)


def named(span: Span, events: tuple[Dip, ...]) -> tuple[Stall, ...]:
    """The stalls of one load with their cycles; `events` are counted from its window's beginning,
    over what was measured alone."""
    series = span.run.series.get(span.step)
    if series is None:
        return tuple(Stall(event, None, None) for event in events)
    measured = series.measured
    begin = span.origin_ns + np.rint(series.start_s[measured] * 1e9).astype(np.int64)
    end = begin + np.rint(series.length_s[measured] * 1e9).astype(np.int64)
    places = [_places(event, series.interval_s, begin.size) for event in events]
    slow = np.zeros(begin.size, dtype=np.bool_)
    for place in places:
        slow[place] = True
    busy = dict(_busy(span.run, begin, end))
    p = {name: coincidence_p(slow, found) for name, found in busy.items()}
    return tuple(
        Stall(event, *_cycle(busy, p, place)) for event, place in zip(events, places, strict=True)
    )


def _places(event: Dip, interval_s: float, intervals: int) -> slice:
    first = round(event.start_s / interval_s)
    return slice(first, min(intervals, first + max(1, round(event.duration_s / interval_s))))


def _cycle(
    busy: Mapping[str, Flags], p: Mapping[str, float], place: slice
) -> tuple[str | None, float | None]:
    """The likeliest of those that most of a stall falls into."""
    sure = [name for name in busy if p[name] * len(busy) < LEVEL]
    there = [name for name in sure if busy[name][place].mean() >= MOST_OF_IT]
    best = min(there, key=lambda name: p[name], default=None)
    return (None, None) if best is None else (best, p[best])


def _busy(run: RunMaterial, begin: Instants, end: Instants) -> Iterator[tuple[str, Flags]]:
    """For each cycle that was sampled well enough, the intervals in which it went on."""
    for cycle in CYCLES:
        there = run.samples.series.get((cycle.source, cycle.metric), {})
        # All of a kind's instances are read together, so any of them says when.
        for sampled in list(there.values())[:1]:
            if sampled.unix_ns.size < 2:
                continue
            known = _known(sampled, begin, end)
            if known.size == 0 or known.mean() < LEAST_KNOWN:
                continue
            least = None if cycle.at_least is None else cycle.at_least(run)
            if cycle.at_least is None:
                yield cycle.name, known & _grew(sampled, begin, end)
            elif least is not None:
                yield cycle.name, known & (_at(sampled, (begin + end) // 2) >= least)


def _known(sampled: SampleSeries, begin: Instants, end: Instants) -> Flags:
    """Whether samples lie close enough on both sides of each interval."""
    after = np.searchsorted(sampled.unix_ns, end)
    before = np.searchsorted(sampled.unix_ns, begin, side="right") - 1
    inside = (before >= 0) & (after < sampled.unix_ns.size)
    last = sampled.unix_ns.size - 1
    apart = sampled.unix_ns[np.minimum(after, last)] - sampled.unix_ns[np.maximum(before, 0)]
    return np.asarray(inside & (apart - (end - begin) <= FAR_NS), dtype=np.bool_)


def _grew(sampled: SampleSeries, begin: Instants, end: Instants) -> Flags:
    """A counter grows somewhere between two samples: all seconds between them may be the one."""
    grown = _at(sampled, end) - _at(sampled, begin)
    return np.asarray(grown > 0, dtype=np.bool_)


def _at(sampled: SampleSeries, instants: Instants) -> NDArray[np.float64]:
    zero = sampled.unix_ns[0]
    values: NDArray[np.float64] = np.interp(
        (instants - zero).astype(np.float64),
        (sampled.unix_ns - zero).astype(np.float64),
        sampled.values,
    )
    return values
