"""The page's store of lines over time: throughput, p99 and every sampled metric of every run, and
the marks on the time axis. The page draws its panels from it, including metrics that the reader
adds."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model import Metric
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.cycles import named
from dbdyno.report.analysis.marks import (
    FAULTS,
    MEASURED,
    NOT_COUNTED,
    Mark,
    fault_marks,
    gap_marks,
    load_marks,
    note_marks,
    phase_marks,
    reset_marks,
)
from dbdyno.report.analysis.timeline import Span, spans
from dbdyno.report.charts.encoding import view_key
from dbdyno.report.material.compact import RunLines, pack
from dbdyno.report.material.lines import Instants, Lines, lines_of
from dbdyno.report.material.material import Column, RunMaterial

PACE = {"throughput": "Events per second", "p99": "p99 of each interval, ms"}
"""Lines that every load has, with their titles."""
BROKEN_S = 2.5
"""A line is drawn through where its samples lie no further apart than this."""
BROKEN_PERIODS = 2.5
"""The same in their usual distances, for sources that are sampled more rarely."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What stands on the common axis of time."""

    views: Mapping[str, tuple[Span, ...]]
    """Key of a selectable view (a cell at a load) → the loads it lays over one another."""
    marks: Mapping[str, tuple[Mark, ...]]
    """Run id → its phases and faults, in order of time."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of all marks: phases in order of time, then faults."""
        found = dict.fromkeys(
            mark.kind
            for marks in self.marks.values()
            for mark in marks
            if mark.kind not in (*NOT_COUNTED, MEASURED, *FAULTS)
        )
        every = {mark.kind for marks in self.marks.values() for mark in marks}
        usual = (kind for kind in (*NOT_COUNTED, MEASURED, *FAULTS) if kind in every)
        return (*found, *usual)


def timeline(analysis: Analysis) -> Timeline:
    """Of every run that came to its load."""
    study = analysis.material.study
    views: dict[str, tuple[Span, ...]] = {}
    marks: dict[str, list[Mark]] = {}
    for point, there in spans(analysis):
        views[view_key(point)] = there
        stalls = {figures.run_id: figures.stability.stalls for figures in point.blocks}
        for span in there:
            run = span.run.manifest.id
            if run not in marks:
                marks[run] = [
                    *phase_marks(span.run),
                    *reset_marks(span.run),
                    *gap_marks(span.run),
                    *note_marks(span.run, analysis.material.notes),
                ]
            found = named(span, stalls.get(run, ()))
            marks[run] += [*load_marks(span, study), *fault_marks(span, found)]
    ordered = {run: sorted(found, key=lambda mark: mark.begin_ns) for run, found in marks.items()}
    return Timeline(views, {run: tuple(found) for run, found in ordered.items()})


def pace_of(span: Span) -> Iterator[tuple[str, Instants, Column]]:
    """Throughput and p99 of a load, told at the end of each interval."""
    series = span.run.series.get(span.step)
    if series is None or not series.start_s.size:
        return
    ends_ns = span.origin_ns + np.rint((series.start_s + series.length_s) * 1e9).astype(np.int64)
    for name, values in (("throughput", series.events_per_s), ("p99", series.p99_ns / 1e6)):
        if np.isfinite(values).any():
            yield name, ends_ns, values


def packed_lines(analysis: Analysis, whole: Collection[str]) -> str:
    """All lines as gzip in base64 (`compact.py` says what is in it); empty where nothing was
    sampled. Those named in `whole` are never thinned.

    The head says beside that `metrics`: name → its words, unit and kind; `views`: key → for each
    line laid over another its run, block, zero, beginning and end; `marks` of each run: kind,
    beginning, end, text, whether panels are shaded; `kinds` of all marks; from how long
    without a sample a line is broken (`gap_ms`, and `gap_periods` of its usual distance). Times are
    milliseconds of the wall clock.
    """
    if not any(run.samples.series for run in analysis.material.runs):
        return ""
    found = timeline(analysis)
    every = {span.run.manifest.id: span for there in found.views.values() for span in there}
    lines = [_run_lines(span.run, found, whole) for span in every.values()]
    places = {run: place for place, run in enumerate(every)}
    head = {
        "metrics": _metrics([span.run for span in every.values()]),
        "kinds": found.kinds,
        "gap_ms": round(1000 * BROKEN_S),
        "gap_periods": BROKEN_PERIODS,
        "views": {
            view: [
                [places[span.run.manifest.id], span.block]
                + [at_ns // 1_000_000 for at_ns in (span.origin_ns, span.begin_ns, span.end_ns)]
                for span in there
            ]
            for view, there in found.views.items()
        },
        "marks": [[_told(mark) for mark in found.marks[run]] for run in places],
    }
    packed = gzip.compress(pack(lines, head), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode()


def _told(mark: Mark) -> list[object]:
    ends_ms = (mark.begin_ns // 1_000_000, mark.end_ns // 1_000_000)
    return [mark.kind, *ends_ms, mark.text, mark.is_shaded]


def _run_lines(run: RunMaterial, found: Timeline, whole: Collection[str]) -> RunLines:
    exact: list[Lines] = list(_pace_lines(run, found))
    others: list[Lines] = []
    for lines in lines_of(run):
        named = np.array([name in whole for name in lines.names])
        for kept, which in ((exact, named), (others, ~named)):
            if which.any():
                names = tuple(np.array(lines.names, dtype=object)[which])
                kept.append(Lines(names, lines.unix_ns, lines.values[which]))
    return RunLines(tuple(exact), tuple(others))


def _pace_lines(run: RunMaterial, found: Timeline) -> Iterator[Lines]:
    """Of all loads of a run together."""
    by_name: dict[str, list[tuple[Instants, Column]]] = {}
    for there in found.views.values():
        for span in there:
            if span.run is run:
                for name, times, values in pace_of(span):
                    by_name.setdefault(name, []).append((times, values))
    for name, parts in by_name.items():
        times, values = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(times, kind="stable")
        yield Lines((name,), times[order], values[order][np.newaxis])


def _metrics(runs: Sequence[RunMaterial]) -> dict[str, list[str]]:
    """By the name of the list: what it counts, unit, kind. An instance is in the name."""
    words: dict[tuple[str, str], Metric] = {}
    names: dict[str, tuple[str, str]] = {}
    for run in runs:
        for (source, metric), there in run.samples.series.items():
            known = run.samples.metrics.get(source, {}).get(metric)
            if known is not None:
                words[source, metric] = known
            name = f"{source}.{metric}"
            apart = (
                [f"{name}.{instance}" for instance in there if instance] if len(there) > 1 else []
            )
            names |= dict.fromkeys([name, *apart], (source, metric))
    unknown = Metric("", "", "gauge", "")
    described = {name: words.get(key, unknown) for name, key in sorted(names.items())}
    return {name: [metric.text, metric.unit, metric.kind] for name, metric in described.items()}
