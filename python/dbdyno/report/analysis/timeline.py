"""When things were: each load of each run on the wall clock, and where the report's axis of time
has its zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.material.sampled import stretches_of


@dataclass(frozen=True, slots=True)
class Span:
    """The load of one step of one run, by the wall clock in nanoseconds."""

    run: RunMaterial
    step: int
    block: str
    """Its number; with the remark `cut short` where the run counts for no figure."""
    begin_ns: int
    """With the warm-up."""
    origin_ns: int
    """Beginning of the window, or of the first turn's: zero of the axis."""
    end_ns: int


def spans(analysis: Analysis) -> Iterator[tuple[Point, tuple[Span, ...]]]:
    """Of each point whose load some run came to, in the order of the points and of the runs."""
    by_cell: dict[frozenset[tuple[str, str]], list[RunMaterial]] = {}
    for run in analysis.material.runs:
        by_cell.setdefault(frozenset(run.manifest.cell.items()), []).append(run)
    for point in analysis.points:
        runs = by_cell.get(frozenset(point.cell.levels.items()), [])
        found = tuple(_spans(analysis.material.study, point, runs))
        if found:
            yield point, found


def _spans(study: Study, point: Point, runs: Sequence[RunMaterial]) -> Iterator[Span]:
    counted = {figures.run_id for figures in point.counted}
    for run in runs:
        found = _span(run, study, point.step)
        if found is not None:
            block = str(run.manifest.block)
            name = block if run.manifest.id in counted else f"{block} (cut short)"
            yield Span(run, point.step, name, *found)


def _span(run: RunMaterial, study: Study, step: int) -> tuple[int, int, int] | None:
    """Beginning, zero and end; `None` where the store does not say."""
    summary = run.summaries.get(step)
    stretches = stretches_of(run, study, summary) if summary else ()
    if stretches:
        turns = [turn.start_unix_ns for turn in run.turns if turn.step == step]
        first = stretches[0].begin_ns
        origin = min(turns, default=first)
        return min(first, origin - round(study.load.warm_up_s * 1e9)), origin, stretches[-1].end_ns
    series = run.series.get(step)
    started = next((s.engine_start_unix_ns for s in run.manifest.steps if s.index == step), None)
    if series is None or not series.start_s.size or started is None:
        return None
    origin = started + round(series.origin_s * 1e9)
    end_s = series.start_s[-1] + series.length_s[-1]
    return origin + round(series.start_s[0] * 1e9), origin, origin + round(end_s * 1e9)
