"""Where throughput ends as clients grow, and how busy the processors are by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.material.sampled import IDLE
from dbdyno.report.terms.wording import clients_text, quantity, share_text

NEAR_HALF = 0.15
"""How far from a half the share of busy processors may be for its load to stand for a half."""


@dataclass(frozen=True, slots=True)
class AtLoad:
    """A cell at one load. Medians over its blocks."""

    point: Point
    rate: float
    """Events per second."""
    busy: float | None
    """Share of the processors that the kernel shows; `None`: not sampled."""


def by_load(points: Sequence[Point], analysis: Analysis) -> tuple[AtLoad, ...]:
    """Those of a cell's points that were measured, from the fewest clients on."""
    processors = next(filter(None, (run.processors for run in analysis.material.runs)), None)
    found = []
    for point in sorted(points, key=lambda point: point.clients):
        rates, idle = point.values("throughput").values(), point.values(IDLE).values()
        busy = 1 - median(idle) / processors if idle and processors else None
        if rates:
            found.append(AtLoad(point, median(rates), busy))
    return tuple(found)


def end_words(points: Sequence[Point], analysis: Analysis) -> str:
    """Where throughput ends (within δ of the highest), and what it is where half of the processors
    are busy, in sentences; with less than two loads, that they make no curve."""
    loads = by_load(points, analysis)
    if len(loads) < 2:
        return f"{points[0].label}: one load alone makes no curve."
    highest = max(load.rate for load in loads)
    near = 1 + analysis.material.study.primary.smallest_effect
    end = next(load for load in loads if load.rate * near >= highest)
    clients = clients_text(end.point.clients)
    busy = "" if end.busy is None else f", with {share_text(end.busy)} of the processors busy"
    if end is loads[-1]:
        text = f"throughput still grows at {clients}, the most measured"
    else:
        text = f"throughput ends at {clients} ({quantity(end.rate, 'events/s')})"
    return f"{end.point.label}: {text}{busy}.{_half_words(loads, end)}"


def _half_words(loads: Sequence[AtLoad], end: AtLoad) -> str:
    """What there is of throughput at the load that is nearest to half of the processors busy."""
    known = [(abs(load.busy - 0.5), load, load.busy) for load in loads if load.busy is not None]
    if end.busy is None or not known:
        return ""
    off, half, busy = min(known, key=lambda known_share: known_share[0])
    ours, whole = half.point.values("throughput"), end.point.values("throughput")
    shares = [ours[block] / whole[block] for block in ours if whole.get(block)]
    if off > NEAR_HALF or half is end or not shares:
        return ""
    spread = f" (blocks: {share_text(min(shares))} to {share_text(max(shares))})"
    return (
        f" With {clients_text(half.point.clients)} {share_text(busy)} of them are busy, and "
        f"throughput is at {share_text(median(shares))} of that"
        f"{spread if len(shares) > 1 else ''}."
    )
