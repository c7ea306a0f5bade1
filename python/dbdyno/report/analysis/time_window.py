"""Windows of time within a step's window: `STUDY/CELL@10s-60s`, counted from its beginning."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbdyno.errors import UsageError
from dbdyno.formats.quantities import format_duration, parse_duration
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.report.material.material import RunMaterial

METRIC = "throughput"
"""The one figure that is kept interval by interval as it is; others would have to be merged."""

_WINDOW = re.compile(r"(.+)@([^@-]+)-([^@-]+)")
_ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From one moment of a step's window to a later one, in seconds."""

    from_s: float
    to_s: float

    def __str__(self) -> str:
        begin = format_duration(self.from_s) if self.from_s else "0 s"
        return f"{begin} to {format_duration(self.to_s)}"


def parse_window(name: str) -> tuple[str, TimeWindow | None]:
    """The name before `@10s-60s`, and that window; a name with any other `@` is whole.

    Raises `UsageError` for a window that ends before it begins.
    """
    found = _WINDOW.fullmatch(name)
    if found is None:
        return name, None
    try:
        window = TimeWindow(parse_duration(found[2]), parse_duration(found[3]))
    except ValueError:
        return name, None
    if window.from_s >= window.to_s:
        raise UsageError(f"`{name}`: the window of time ends before it begins")
    return found[1], window


def within(point: Point, window: TimeWindow, runs: Sequence[RunMaterial]) -> Point:
    """The point with the events of those intervals only. Raises `UsageError` where there are none,
    or where cells were driven in turns, which have no time in common."""
    by_id = {run.manifest.id: run for run in runs}
    blocks = tuple(_cut(figures, window, by_id[figures.run_id]) for figures in point.blocks)
    return replace(point, blocks=blocks)


def _cut(figures: BlockFigures, window: TimeWindow, run: RunMaterial) -> BlockFigures:
    summary = figures.summary
    if figures.turns:
        raise UsageError(
            f"{run.manifest.id} was driven in turns: its time is not one window",
            hint='compare whole cells, or run the study with `order = "runs"`',
        )
    series = run.series.get(summary.step)
    start = np.empty(0) if series is None else series.start_s[series.measured]
    length = np.empty(0) if series is None else series.length_s[series.measured]
    rates = np.empty(0) if series is None else series.events_per_s[series.measured]
    end = float((start + length).max()) if start.size else 0.0
    inside = (start >= window.from_s - _ROUNDING_S) & (start + length <= window.to_s + _ROUNDING_S)
    if window.to_s > end + _ROUNDING_S or not inside.any():
        raise UsageError(
            f"{run.manifest.id} has no window of time {window}: its own ends after {end:g} s, in "
            f"intervals of {series.interval_s if series else 0:g} s"
        )
    events, span_s = float((rates * length)[inside].sum()), float(length[inside].sum())
    cut = replace(
        summary, events=round(events), window_s=span_s, events_per_s=events / span_s, figures={}
    )
    return replace(figures, summary=cut)
