"""Samples as lines over time: instances added up, counters by second, at the instants at which they
were sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.report.material.material import Column, RunMaterial, SampleSeries
from dbdyno.report.material.resets import resets
from dbdyno.report.material.sampled import instances

Instants = NDArray[np.int64]

SHORTEST_S = 0.2
"""Samples at the edges of turns may lie close to others: too close to tell a rate."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one run that share their instants."""

    names: tuple[str, ...]
    """`source.metric`, or `source.metric.instance` for one of several."""
    unix_ns: Instants
    values: Column
    """A row a name, a column an instant; a counter's growth by second up to that instant, not a
    number where the counter was reset."""


def line(series: Sequence[SampleSeries], *, counter: bool) -> tuple[Instants, Column]:
    """The sum of a metric's instances; where one was not sampled, its neighbours tell."""
    times, values = _sum(series)
    times, rows = _lines(times, values[np.newaxis], counter=counter)
    return times, rows[0]


def lines_of(run: RunMaterial) -> Iterator[Lines]:
    """Every metric of a run, and each of its instances where there are several."""
    alike: dict[tuple[bool, bytes], tuple[Instants, list[str], list[Column]]] = {}
    for name, counter, series in _every(run):
        times, values = _sum(series)
        _, names, rows = alike.setdefault((counter, times.tobytes()), (times, [], []))
        names.append(name)
        rows.append(values)
    for (counter, _), (times, names, rows) in alike.items():
        instants, values = _lines(times, np.stack(rows), counter=counter)
        if instants.size:
            yield Lines(tuple(names), instants, values)


def _every(run: RunMaterial) -> Iterator[tuple[str, bool, Sequence[SampleSeries]]]:
    for (source, metric), there in run.samples.series.items():
        counter = run.samples.is_counter(source, metric)
        name = f"{source}.{metric}"
        yield name, counter, instances(run, source, metric, None)
        if len(there) > 1:
            yield from _apart(name, counter, there)


def _apart(
    name: str, counter: bool, there: Mapping[str, SampleSeries]
) -> Iterator[tuple[str, bool, Sequence[SampleSeries]]]:
    for instance, series in there.items():
        if instance:
            yield f"{name}.{instance}", counter, [series]


def _sum(series: Sequence[SampleSeries]) -> tuple[Instants, Column]:
    if not series:
        return np.empty(0, dtype=np.int64), np.empty(0)
    first = series[0].unix_ns
    if len(series) == 1:
        return first, series[0].values
    if all(np.array_equal(column.unix_ns, first) for column in series[1:]):
        return first, np.sum([column.values for column in series], axis=0)
    times = np.unique(np.concatenate([column.unix_ns for column in series]))
    return times, np.sum(
        [np.interp(times, column.unix_ns, column.values) for column in series], axis=0
    )


def _lines(times: Instants, values: Column, *, counter: bool) -> tuple[Instants, Column]:
    if not counter or not times.size:
        return times, values
    lengths = np.diff(times) / 1e9
    grown = np.where(resets(values), np.nan, np.diff(values, axis=1))
    long_enough = lengths > SHORTEST_S
    return times[1:][long_enough], grown[:, long_enough] / lengths[long_enough]
