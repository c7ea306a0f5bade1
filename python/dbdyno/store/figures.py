"""Computes a step's figures from the engine's records.

Percentiles are read from merged histograms only; percentiles themselves are never averaged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.formats.histograms import decode, encode, event_responses, tag
from dbdyno.model import (
    PERCENTILES,
    Backlog,
    HistogramRecord,
    RateSearch,
    StepSummary,
    Subject,
    Summary,
    TimeKind,
)
from dbdyno.stats.histogram import histogram_of, mean, merge_histograms, percentile, percentiles

_NS_PER_US = 1000
NO_BACKLOG = Backlog()


def event_record(counts: Sequence[tuple[int, int]]) -> HistogramRecord | None:
    """Response times of the main clients' events as the store keeps them, from (nanoseconds, how
    many); `None` without any."""
    if not counts:
        return None
    histogram = histogram_of(counts)
    nothing = HistogramRecord("event", "main", "service", count=0, out_of_range=0, hdr="")
    return encode(histogram, nothing, out_of_range=0)


def step_summary(
    step: int,
    summary: Summary,
    record: Mapping[str, object],
    *,
    backlog: Backlog = NO_BACKLOG,
    clients: int | None = None,
    size_bytes: tuple[int, int] | None = None,
) -> StepSummary:
    """The figures of one step; `record` is the summary as received, stored beside them.

    `clients` is the number that began the step: the engine reports those left at the end, and a
    script may end its clients one by one. `size_bytes`: size of the data on disk before and after.
    """
    window_s = summary.window_s
    statements = summary.measured.statements
    moved = summary.measured.bytes_sent + summary.measured.bytes_received
    cpu_us = summary.cpu.total_us / statements if statements else None
    return StepSummary(
        step=step,
        clients=summary.clients if clients is None else clients,
        interrupted=summary.interrupted,
        window_s=window_s,
        events=summary.measured.events,
        statements=statements,
        events_per_s=_per_s(summary.measured.events, window_s),
        statements_per_s=_per_s(statements, window_s),
        errors=summary.measured.errors,
        errors_by_code=summary.errors,
        restarts=summary.measured.restarts,
        reconnects=summary.measured.reconnects,
        redirects=summary.measured.redirects,
        latency_us=_us(response_figures_ns(summary.histograms)),
        latency_by_label_us=_by_label(summary.histograms),
        client_cpu_us_per_statement=cpu_us,
        client_rss_kb=summary.rss_kb,
        client_rss_peak_kb=summary.rss_peak_kb,
        total_statements=summary.total.statements,
        total_events=summary.total.events,
        wait_us=_us(figures_ns(_times(summary.histograms, "event", "wait"))),
        service_us=_us(figures_ns(_times(summary.histograms, "event", "service"))),
        lag_us=_own(summary.histograms, "lag"),
        queued_us=_own(summary.histograms, "queued"),
        unread_us=_own(summary.histograms, "unread"),
        backlog=backlog,
        censored=summary.censored,
        p99_us_at_most=_p99_us_at_most(summary),
        events_by_label={
            record.label: record.count for record in _times(summary.histograms, "event", "service")
        },
        record=record,
        figures={} if size_bytes is None else _growth(*size_bytes, summary.total.events),
        bytes_per_statement=moved / statements if statements and moved else None,
    )


def with_search(summary: StepSummary, search: RateSearch) -> StepSummary:
    """The chosen probe's figures as those of the whole search. Without data growth per event,
    because all probes contributed to the growth."""
    figures = {k: v for k, v in summary.figures.items() if k != "data_bytes_per_event"}
    return replace(summary, search=search, figures=figures)


def _growth(before: int, after: int, events: int) -> Mapping[str, float]:
    """Growth of the data on disk, over all events of the step."""
    by_event = {"data_bytes_per_event": (after - before) / events} if events else {}
    return {"data_bytes": float(after), **by_event}


def _own(records: Iterable[HistogramRecord], label: str) -> Mapping[str, float]:
    """Figures of one of the generator's own times, microseconds."""
    return _us(
        figures_ns(record for record in _times(records, "lag", "wait") if record.label == label)
    )


def _p99_us_at_most(summary: Summary) -> float | None:
    """The highest 99th percentile that the window's events can have had, microseconds.

    A censored event took longer than recorded, so its place in the order is unknown upwards. At
    worst, all of them lie among the fastest recorded and belong among the slowest: the percentile
    then moves up by as many places. `None`: beyond the slowest recorded, or nothing was recorded.
    """
    histogram = merge_histograms(map(decode, event_responses(summary.histograms)))
    recorded = histogram.get_total_count()
    rank = 99 + 100 * summary.censored / recorded if recorded else math.inf
    return percentile(histogram, rank) / _NS_PER_US if rank <= 100 else None


def response_figures_ns(records: Iterable[HistogramRecord]) -> Mapping[str, float]:
    """Figures of the response times of all events, whatever their label."""
    return figures_ns(event_responses(records))


def figures_ns(records: Iterable[HistogramRecord]) -> Mapping[str, float]:
    """`p50` … `p99.9`, `max` and `mean` in nanoseconds; empty if nothing was recorded."""
    histogram = merge_histograms(decode(record) for record in records)
    if histogram.get_total_count() == 0:
        return {}
    values = percentiles(histogram, PERCENTILES.values())
    return {
        **dict(zip(PERCENTILES, values, strict=True)),
        "max": float(histogram.get_max_value()),
        "mean": mean(histogram),
    }


def _times(
    records: Iterable[HistogramRecord], subject: Subject, time: TimeKind
) -> Iterable[HistogramRecord]:
    return (record for record in records if (record.subject, record.time) == (subject, time))


def _per_s(count: int, window_s: float) -> float:
    return count / window_s if window_s > 0 else 0.0


def _us(figures: Mapping[str, float]) -> Mapping[str, float]:
    return {name: value / _NS_PER_US for name, value in figures.items()}


def _by_label(records: tuple[HistogramRecord, ...]) -> Mapping[str, Mapping[str, float]]:
    groups: dict[str, list[HistogramRecord]] = defaultdict(list)
    for record in records:
        groups[tag(record)].append(record)
    return {name: _us({**_least(group), **figures_ns(group)}) for name, group in groups.items()}


def _least(records: Iterable[HistogramRecord]) -> Mapping[str, float]:
    """The shortest time, where anything was recorded: some benchmarks publish least, mean, most."""
    histogram = merge_histograms(decode(record) for record in records)
    return {"min": float(histogram.get_min_value())} if histogram.get_total_count() else {}
