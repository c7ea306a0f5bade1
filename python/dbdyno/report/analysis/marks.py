"""Phases and faults of a run by the wall clock: what the axis of time is marked with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.model import Note, Study
from dbdyno.report.analysis.cycles import Stall
from dbdyno.report.analysis.timeline import Span
from dbdyno.report.material.material import RunMaterial, StepSeries
from dbdyno.report.material.resets import resets
from dbdyno.report.terms.wording import count

PHASES = {"prepare": "load"}
"""What the manifest calls otherwise than a reader would."""

WARM_UP, LEAD_IN, MEASURED = "warm-up", "lead-in", "measured"
ERRORS, RECONNECTS, STALL, FAILURE, RESET, GAP = (
    "errors", "reconnects", "stall", "failure", "counter reset", "collector gap",
)  # fmt: skip
FAULT, NOTE = "fault", "note"
"""A `[[fault]]` of the study; what somebody has marked with `dbdyno note`."""
FAULTS = (FAULT, FAILURE, STALL, ERRORS, RECONNECTS, RESET, GAP)
NOT_COUNTED = (WARM_UP, LEAD_IN)

BESIDE_S = 1.5
"""Seconds with faults are one stretch if they lie no further apart."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One stretch of the axis; an instant has no length."""

    kind: str
    begin_ns: int
    end_ns: int
    text: str

    @property
    def is_shaded(self) -> bool:
        """Whether the panels below are shaded where it lies."""
        return self.kind in (*NOT_COUNTED, *FAULTS)


def phase_marks(run: RunMaterial) -> Iterator[Mark]:
    """What the lab did with the run, its loads left out."""
    for phase in run.manifest.phases:
        if not phase.name.startswith("step "):
            kind = PHASES.get(phase.name, phase.name)
            length_s = phase.end_unix_s - phase.start_unix_s
            begin_ns, end_ns = (round(s * 1e9) for s in (phase.start_unix_s, phase.end_unix_s))
            yield Mark(kind, begin_ns, end_ns, f"{kind}, {length_s:.3g} s")
    error = run.manifest.error
    if error is not None:
        # The lab looks at the server and stops it behind the failure: the last load has ended it.
        loads = [p.end_unix_s for p in run.manifest.phases if p.name.startswith("step ")]
        at_ns = round(max(loads, default=run.manifest.ended_unix_s) * 1e9)
        yield Mark(FAILURE, at_ns, at_ns, f"{error.kind}: {error.message}")


def note_marks(run: RunMaterial, notes: Sequence[Note]) -> Iterator[Mark]:
    """What people have marked while the run lasted."""
    begin_s, end_s = run.manifest.started_unix_s, run.manifest.ended_unix_s
    for note in notes:
        if begin_s <= note.unix_ns / 1e9 <= end_s:
            yield Mark(NOTE, note.unix_ns, note.unix_ns, note.text)


def load_marks(span: Span, study: Study) -> Iterator[Mark]:
    """Warm-up, lead-ins and windows of a step."""
    turns = [turn for turn in span.run.turns if turn.step == span.step]
    summary = span.run.summaries.get(span.step)
    clients = next(s.clients for s in span.run.manifest.steps if s.index == span.step)
    of = f"{clients} client{'s' if clients > 1 else ''}"
    if span.begin_ns < span.origin_ns:
        length_s = (span.origin_ns - span.begin_ns) / 1e9
        yield Mark(WARM_UP, span.begin_ns, span.origin_ns, f"warm-up, {of}, {length_s:.3g} s")
    if not turns:
        end_ns = span.origin_ns + round(summary.window_s * 1e9) if summary else span.end_ns
        length_s = (end_ns - span.origin_ns) / 1e9
        yield Mark(MEASURED, span.origin_ns, end_ns, f"window, {of}, {length_s:.3g} s")
    for fault in summary.faults if summary else ():
        length_s = (fault.back_ns - fault.at_ns) / 1e9
        text = f"{fault.do} of {fault.member}, back after {length_s:.3g} s"
        text += "; the statement it was to meet had ended" if fault.met_statement is False else ""
        text += f"; {fault.promoted} took its place" if fault.promoted else ""
        yield Mark(FAULT, span.origin_ns + fault.at_ns, span.origin_ns + fault.back_ns, text)
    for turn in turns:
        lead_in_ns = round(study.design.lead_in_of(turn.round, clients) * 1e9)
        if turn.round and lead_in_ns:
            begin_ns = turn.start_unix_ns - lead_in_ns
            text = f"lead-in of turn {turn.round + 1}, {of}"
            yield Mark(LEAD_IN, begin_ns, turn.start_unix_ns, text)
        text = f"turn {turn.round + 1} of {len(turns)}, {of}, {turn.window_s:.3g} s"
        yield Mark(MEASURED, turn.start_unix_ns, turn.end_unix_ns, text)


def fault_marks(span: Span, stalls: Sequence[Stall]) -> Iterator[Mark]:
    """Errors, lost connections and stalls of a step; `stalls` are counted from its window's
    beginning, over what was measured alone."""
    series = span.run.series.get(span.step)
    if series is None:
        return
    for kind, word, counts in (
        (ERRORS, "error", series.errors),
        (RECONNECTS, "reconnect", series.reconnects),
    ):
        if counts.size == series.start_s.size:
            yield from _counted(span, series, counts, kind, word)
    places = np.flatnonzero(series.measured)
    for stall in stalls:
        event = stall.event
        first = round(event.start_s / series.interval_s)
        last = first + max(1, round(event.duration_s / series.interval_s)) - 1
        if last < places.size:
            text = f"stall of {event.duration_s:.3g} s: {100 * event.depth:.0f} % below the median"
            text += f"; coincides with {stall.cycle}" if stall.cycle else ""
            yield _of_intervals(span, series, (int(places[first]), int(places[last])), STALL, text)


def reset_marks(run: RunMaterial) -> Iterator[Mark]:
    """Where counters of a source fell: figures of what they count leave that time out."""
    fallen: dict[tuple[str, int, int], int] = {}
    for (source, metric), there in run.samples.series.items():
        if not run.samples.is_counter(source, metric):
            continue
        for mark in there.values():
            for place in np.flatnonzero(resets(mark.values)):
                key = source, int(mark.unix_ns[place]), int(mark.unix_ns[place + 1])
                fallen[key] = fallen.get(key, 0) + 1
    for (source, begin_ns, end_ns), counters in fallen.items():
        text = (
            f"{counters} counter{'s' if counters > 1 else ''} of {source} fell: it restarted, or "
            "its statistics were reset"
        )
        yield Mark(RESET, begin_ns, end_ns, text)


def gap_marks(run: RunMaterial) -> Iterator[Mark]:
    """Where a sample of a source was due and did not come: by the sampler's own account, since a
    source may be sampled rarely on purpose."""
    for source, cost in run.manifest.collected.items():
        missed = cost.get("missed_unix_s", ())
        assert isinstance(missed, Sequence)
        for begin_s, end_s in missed:
            # Sources of the machine are sampled for all runs that share it in turns.
            if end_s > run.manifest.started_unix_s and begin_s < run.manifest.ended_unix_s:
                text = f"no sample of {source} for {end_s - begin_s:.3g} s"
                yield Mark(GAP, round(begin_s * 1e9), round(end_s * 1e9), text)


def _counted(
    span: Span, series: StepSeries, counts: NDArray[np.float64], kind: str, word: str
) -> Iterator[Mark]:
    places = np.flatnonzero(counts > 0)
    if not places.size:
        return
    starts, ends = series.start_s, series.start_s + series.length_s
    apart = starts[places[1:]] - ends[places[:-1]] > BESIDE_S
    for group in np.split(places, np.flatnonzero(apart) + 1):
        total = counts[group].sum()
        text = f"{count(total)} {word}{'s' if total > 1 else ''}"
        yield _of_intervals(span, series, (int(group[0]), int(group[-1])), kind, text)


def _of_intervals(
    span: Span, series: StepSeries, reach: tuple[int, int], kind: str, text: str
) -> Mark:
    first, last = reach
    begin_s, end_s = series.start_s[first], series.start_s[last] + series.length_s[last]
    return Mark(
        kind,
        span.origin_ns + round(begin_s * 1e9),
        span.origin_ns + round(end_s * 1e9),
        text,
    )
