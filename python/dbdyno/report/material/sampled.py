"""Figures from what was sampled beside the load: the growth of counters over exactly the time in
which a step's load ran, and the mean of gauges over it.

Where cells took turns, collectors were asked at the edges of each: a turn's growth is that between
the two edges, and its events are all of the turn, lead-in and drain included. A window in one
piece begins and ends between two samples a second apart: there, counters are interpolated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbdyno.model import (
    FIGURES,
    OF_SERIES,
    OVER,
    PER_DOLLAR,
    PER_EVENT,
    Counted,
    Sampled,
    StepResult,
    StepSummary,
    Study,
    abilities,
)
from dbdyno.report.material.evenness import with_evenness
from dbdyno.report.material.material import RunMaterial, SampleSeries, StepSeries
from dbdyno.report.material.resets import resets

IDLE = "processor.idle_s"
"""Growth by second: how many processors were idle."""

LAG = "replication.lag_s"
"""How late a replica is: a gate judges it, whatever the study asks for."""

MEMBERS = "member"
"""The source that has each server of several as an instance."""

_PROCESSOR_TIME = ("user_s", "system_s")

FAR_NS = 2_000_000_000
"""A sample this far from a turn's edge missed it: the source was slow, and the turn is excluded."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Load without a pause, by the wall clock."""

    begin_ns: int
    end_ns: int
    events: int
    edges: bool
    """Collectors were asked just before and just after it."""

    @property
    def length_s(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9


def with_figures(run: RunMaterial, study: Study, names: Sequence[str]) -> RunMaterial:
    """The run, its summaries' figures with those of `names` that can be worked out."""
    summaries = {
        step: replace(
            summary,
            figures={**summary.figures, **dict(_figures(run, study, summary, names))},
        )
        for step, summary in run.summaries.items()
    }
    run = replace(run, summaries=summaries)
    if abilities(run.manifest.generator).keeps_series:
        return with_evenness(run, names)
    by_step = {step: _tool_series(run, study, summary) for step, summary in run.summaries.items()}
    series = {step: found for step, found in by_step.items() if found is not None}
    return with_evenness(replace(run, series=series), names)


def _tool_series(run: RunMaterial, study: Study, summary: StepSummary) -> StepSeries | None:
    """Second by second, as the program that put the load on told its rates: all it tells together.

    A rate is told at the end of its second. `None` where it told none.
    """
    source = run.manifest.generator
    rates = [
        name for name, metric in run.samples.metrics.get(source, {}).items() if metric.unit == "/s"
    ]
    every = [line for name in rates for line in run.samples.series.get((source, name), {}).values()]
    seconds = round(summary.window_s)
    for stretch in stretches_of(run, study, summary):
        total, seen = np.zeros(seconds), np.zeros(seconds, dtype=np.bool_)
        for line in every:
            places = np.rint((line.unix_ns - stretch.begin_ns) / 1e9).astype(int) - 1
            inside = (places >= 0) & (places < seconds)
            total[places[inside]] += line.values[inside]
            seen[places[inside]] = True
        if seen.any():
            starts = np.flatnonzero(seen).astype(np.float64)
            whole = np.ones(starts.size)
            measured = np.ones(starts.size, dtype=np.bool_)
            return StepSeries(starts, whole, measured, total[seen], np.full(starts.size, np.nan))
    return None


def _figures(
    run: RunMaterial, study: Study, summary: StepSummary, names: Sequence[str]
) -> Iterator[tuple[str, float]]:
    stretches = stretches_of(run, study, summary)
    yield from _told_by_engine(summary)
    yield from _stopping(run)
    if price := study.price_of(run.manifest.cell):
        yield PER_DOLLAR, 3600 * summary.events_per_s / price
    for name in names:
        if name in PER_EVENT:
            found = per_event(run, stretches, FIGURES[name].counted)
        else:
            sampled = Sampled.parse(name)
            found = _of_sampled(run, stretches, sampled) if sampled else None
        if found is not None:
            yield name, found


def stretches_of(run: RunMaterial, study: Study, summary: StepSummary) -> tuple[Stretch, ...]:
    """When a step's load ran: its turns, or its one window; nothing if the store does not say."""
    turns = [turn for turn in run.turns if turn.step == summary.step]
    if turns:
        leads_s = [study.before_window_s(turn.round, summary.clients) for turn in turns]
        return tuple(
            Stretch(
                turn.start_unix_ns - round(lead_s * 1e9),
                turn.drained_unix_ns,
                turn.turn_events,
                True,
            )
            for turn, lead_s in zip(turns, leads_s, strict=True)
        )
    step = next((step for step in run.manifest.steps if step.index == summary.step), None)
    span = _window(step, summary) if step else None
    return (Stretch(*span, summary.events, False),) if span else ()


def _window(step: StepResult, summary: StepSummary) -> tuple[int, int] | None:
    if step.engine_start_unix_ns is not None:
        start, end = summary.record.get("start_ns"), summary.record.get("end_ns")
        if isinstance(start, int) and isinstance(end, int):
            return step.engine_start_unix_ns + start, step.engine_start_unix_ns + end
    if step.ended_unix_ns is not None:
        return step.ended_unix_ns - round(summary.window_s * 1e9), step.ended_unix_ns
    return None


def _told_by_engine(summary: StepSummary) -> Iterator[tuple[str, float]]:
    """The engine counts what it sends and receives itself."""
    measured = summary.record.get("measured")
    if isinstance(measured, Mapping) and summary.events:
        both = measured.get("bytes_sent", 0) + measured.get("bytes_received", 0)
        if both:
            yield "network_bytes_per_event", both / summary.events


def _stopping(run: RunMaterial) -> Iterator[tuple[str, float]]:
    """Only of complete runs of servers that the lab started: others it doesn't stop in order."""
    for phase in run.manifest.phases:
        if phase.name == "stop":
            yield "stop_s", phase.end_unix_s - phase.start_unix_s


def processor_time(source: str, instance: str) -> Counted:
    """What counts an instance's processor time, in µs."""
    return Counted(source, _PROCESSOR_TIME, instance, 1e6)


def per_event(
    run: RunMaterial, stretches: Sequence[Stretch], counted: Sequence[Counted]
) -> float | None:
    """Growth of all these counters together, for each event of the stretches in which they are
    known; `None` if there is none."""
    amount, events = 0.0, 0
    series = [
        (counter.factor, instance)
        for counter in counted
        for metric in counter.metrics
        for instance in instances(run, counter.source, metric, counter.instance)
    ]
    for stretch in _without_reset(stretches, [line for _, line in series]):
        grown = [(factor, _growth(line, stretch)) for factor, line in series]
        known = [factor * growth for factor, growth in grown if growth is not None]
        if known:
            amount += sum(known)
            events += stretch.events
    return amount / events if events else None


def _of_sampled(run: RunMaterial, stretches: Sequence[Stretch], sampled: Sampled) -> float | None:
    series = instances(run, sampled.source, sampled.metric, sampled.instance)
    if not series or not stretches:
        return None
    if run.samples.is_counter(sampled.source, sampled.metric):
        whole = _without_reset(stretches, series)
        growths = [_growth(line, stretch) for line in series for stretch in whole]
        grown = [growth for growth in growths if growth is not None]
        length_s = sum(stretch.length_s for stretch in whole)
        return sum(grown) / length_s if grown and length_s > 0 else None
    inside = [[v for stretch in stretches for v in _inside(line, stretch)] for line in series]
    means = [float(np.mean(values)) for values in inside if values]
    return sum(means) if means else None


def instances(
    run: RunMaterial, source: str, metric: str, instance: str | None
) -> Sequence[SampleSeries]:
    """Those meant: the one named, or all; of those with a sum of their own only that, of disks
    only the one with the data, since what lies on it shows again in the disk below."""
    there = run.samples.series.get((source, metric), {})
    if instance is None and source == "disk":
        instance = data_disk(run, there)
    if instance is None and "" in there:
        instance = ""
    if instance is not None:
        return [there[instance]] if instance in there else []
    return list(there.values())


def data_disk(run: RunMaterial, known: Mapping[str, object]) -> str:
    """The outermost device below the server's data among those sampled; a partition's is the disk
    it lies on."""
    devices = run.host("storage").get("devices")
    for device in devices if isinstance(devices, list) else []:
        name = str(device.get("name"))
        disk = next((device for device in known if is_on(name, device)), None)
        if disk is not None:
            return disk
    return "no disk"


def is_on(device: str, disk: str) -> bool:
    """Whether a device is the disk or a partition of it: `sda1` of `sda`, `nvme0n1p2` of
    `nvme0n1`; `loop10` is no partition of `loop1`."""
    separator = "p" if disk[-1:].isdigit() else ""
    return device == disk or bool(re.fullmatch(rf"{re.escape(disk)}{separator}\d+", device))


def _without_reset(
    stretches: Sequence[Stretch], series: Sequence[SampleSeries]
) -> Sequence[Stretch]:
    """Those in which none of the counters was reset."""
    return [
        stretch for stretch in stretches if not any(_was_reset(line, stretch) for line in series)
    ]


def _was_reset(series: SampleSeries, stretch: Stretch) -> bool:
    before, after = _around(series, stretch)
    return bool(resets(series.values[max(before, 0) : after + 1]).any())


def _around(series: SampleSeries, stretch: Stretch) -> tuple[int, int]:
    """Places of the last sample before a stretch and of the first behind it; −1 and the number of
    samples where there is none."""
    before = int(np.searchsorted(series.unix_ns, stretch.begin_ns, side="right")) - 1
    return before, int(np.searchsorted(series.unix_ns, stretch.end_ns, side="left"))


def _growth(series: SampleSeries, stretch: Stretch) -> float | None:
    """Of a counter; `None` where no sample tells it."""
    times, values = series.unix_ns, series.values
    if not stretch.edges:
        if stretch.begin_ns < times[0] or stretch.end_ns > times[-1]:
            return None
        start, end = np.interp([stretch.begin_ns, stretch.end_ns], times, values)
        return float(end - start)
    before, after = _around(series, stretch)
    if before < 0 or after >= times.size:
        return None
    if stretch.begin_ns - times[before] > FAR_NS or times[after] - stretch.end_ns > FAR_NS:
        return None
    return float(values[after] - values[before])


def _inside(series: SampleSeries, stretch: Stretch) -> Sequence[float]:
    chosen = (series.unix_ns >= stretch.begin_ns) & (series.unix_ns <= stretch.end_ns)
    return [float(value) for value in series.values[chosen]]


def wanted(study: Study, metric: str | None = None) -> tuple[str, ...]:
    """Names of the figures that are worked out for the study: costs per event, those of samples and
    series that it names, and `metric`."""
    named = [study.primary.metric, *(published.metric for published in study.published)]
    named += [] if metric is None else [metric]
    named += [metric for chart in study.charts for metric in chart.metrics]
    named = [part for name in named for part in name.split(OVER)]
    busy = any(chart.kind == "busy-by-clients" for chart in study.charts)
    named += [IDLE] if busy or any(lead.curve for lead in study.leads) else []
    series = [name for name in named if name in OF_SERIES]
    sampled = [name for name in named if name not in FIGURES and Sampled.parse(name)]
    return (*PER_EVENT, *dict.fromkeys((*series, *sampled)))


def sources(names: Sequence[str]) -> set[tuple[str, str]]:
    """Source and metric of all samples that these figures and the gates are computed from."""
    found = {(MEMBERS, metric) for metric in _PROCESSOR_TIME}
    for name in (*names, LAG):
        if name in PER_EVENT:
            found |= {
                (counter.source, metric)
                for counter in FIGURES[name].counted
                for metric in counter.metrics
            }
        elif sampled := Sampled.parse(name):
            found.add((sampled.source, sampled.metric))
    return found
