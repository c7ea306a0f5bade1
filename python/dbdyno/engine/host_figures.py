"""What each load host has measured of a run, for readers who must see whether hosts differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, stdev

from dbdyno.engine.hosts import HOST_SOURCE, LoadHosts
from dbdyno.formats.histograms import decode, event_responses
from dbdyno.model import (
    Hello,
    HistogramRecord,
    Interval,
    LoadHost,
    Record,
    Sample,
    Summary,
)
from dbdyno.stats.histogram import mean, merge_histograms, percentile

_BATCHES = 10
"""A window is cut into so many pieces at most, whose means say how much the whole one may vary."""
_LEAST_BATCHES = 3
_US = 1000.0


@dataclass(slots=True)
class _Part:
    """The records of one engine process."""

    start_unix_ns: int = 0
    heard_unix_ns: int = 0
    clients: int = 0
    pieces: list[tuple[float, int, Sequence[HistogramRecord]]] = field(default_factory=list)
    """Of each interval measured: seconds, events, distributions."""
    samples: list[Sample] = field(default_factory=list)


class HostRecords:
    """Collects the records of each process; `figures` are those of each host."""

    def __init__(self, hosts: LoadHosts, processes: Sequence[str]) -> None:
        """`processes`: the host of each."""
        self._hosts, self._processes = hosts, processes
        self._parts = [_Part() for _ in processes]

    def take(self, index: int, record: Record) -> None:
        """Notes a record of process `index`, whose times are its own."""
        part = self._parts[index]
        match record:
            case Hello():
                part.start_unix_ns = part.heard_unix_ns = record.start_unix_ns
            case Interval():
                part.heard_unix_ns = part.start_unix_ns + record.end_ns
                part.clients = max(part.clients, record.clients)
                if record.phase == "measure" and record.end_ns > record.start_ns:
                    self._measured(index, record)
            case Summary():
                part.clients = max(part.clients, record.clients)
            case _:
                pass

    def samples(self) -> tuple[Sample, ...]:
        """Events and response times of each host by interval."""
        return tuple(sample for part in self._parts for sample in part.samples)

    def figures(self, losses: Mapping[str, str]) -> tuple[LoadHost, ...]:
        """One of each host that has a process; `losses`: why some were lost."""
        names = [name for name in self._hosts.names if name in self._processes]
        return tuple(self._figures(name, losses.get(name, "")) for name in names)

    def _measured(self, index: int, record: Interval) -> None:
        part, name = self._parts[index], self._processes[index]
        length_s = (record.end_ns - record.start_ns) / 1e9
        part.pieces.append((length_s, record.counters.events, record.histograms))
        figures = {"events_per_s": record.counters.events / length_s}
        histogram = merge_histograms(map(decode, event_responses(record.histograms)))
        if histogram.get_total_count():
            figures["response_us_p99"] = percentile(histogram, 99.0) / _US
        part.samples += [
            Sample(part.heard_unix_ns, HOST_SOURCE, metric, name, value)
            for metric, value in figures.items()
        ]

    def _figures(self, name: str, lost: str) -> LoadHost:
        parts = [p for p, host in zip(self._parts, self._processes, strict=True) if host == name]
        pieces = [piece for part in parts for piece in part.pieces]
        line = self._hosts.clock(name)
        histogram = merge_histograms(
            decode(record) for _, _, found in pieces for record in event_responses(found)
        )
        count = histogram.get_total_count()
        rates = _batches([(length_s, float(events)) for length_s, events, _ in pieces])
        times = _batches([_times(found) for *_, found in pieces])
        return LoadHost(
            name=name,
            clients=sum(part.clients for part in parts),
            events=sum(events for _, events, _ in pieces),
            # Pieces of several processes lie beside one another, not behind.
            events_per_s=len(parts) * fmean(rates) if rates else 0.0,
            events_per_s_error=_error(rates, 1 / len(parts)),
            response_us=mean(histogram) / _US if count else None,
            response_us_error=_error(times, _US),
            p50_us=percentile(histogram, 50.0) / _US if count else None,
            p99_us=percentile(histogram, 99.0) / _US if count else None,
            clock_ahead_us=line.ahead(line.at_ns) / _US,
            clock_drift_ppm=line.drift_ppm,
            clock_uncertainty_us=line.uncertainty_ns / _US,
            lost=lost,
            heard_until_unix_s=max(part.heard_unix_ns for part in parts) / 1e9,
        )


def _times(records: Sequence[HistogramRecord]) -> tuple[float, float]:
    """Events of a piece, and the sum of their response times in nanoseconds."""
    histogram = merge_histograms(map(decode, event_responses(records)))
    count = histogram.get_total_count()
    return float(count), count * mean(histogram) if count else 0.0


def _batches(pieces: Sequence[tuple[float, float]]) -> list[float]:
    """Ratios of sums over consecutive pieces, (below, above) each; what is left over at the end
    joins the last."""
    count = min(_BATCHES, len(pieces))
    edges = [round(n * len(pieces) / count) for n in range(count + 1)] if count else []
    found = []
    for first, last in pairwise(edges):
        below = sum(piece[0] for piece in pieces[first:last])
        if below > 0:
            found.append(sum(piece[1] for piece in pieces[first:last]) / below)
    return found


def _error(batches: Sequence[float], unit: float = 1.0) -> float | None:
    """Standard error of their mean in a unit; `None` of fewer than three."""
    if len(batches) < _LEAST_BATCHES:
        return None
    return stdev(batches) / math.sqrt(len(batches)) / unit
