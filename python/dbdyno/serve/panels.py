"""Lines over time of a running study: its load, its host and its server."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from dbdyno.errors import EngineError
from dbdyno.formats.histograms import decode, event_responses
from dbdyno.model import HistogramRecord, Metric, Sample
from dbdyno.stats.histogram import merge_histograms, percentiles
from dbdyno.store.journal import require_number

MOST_POINTS = 1800
"""Points kept of a line, half an hour at one a second: what a browser gets on opening the page."""
LOADED = ("warm-up", "measure")
_LEAST_APART_NS = 500_000_000
"""Shortest time between two samples from which a rate is computed: at the edges of turns samples
follow one another at once, and the kernel counts processor time in ticks."""
_RANKS = {"p50": 50.0, "p95": 95.0, "p99": 99.0}


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn in a panel."""

    name: str
    title: str
    unit: str


LOAD = (
    Panel("throughput", "Events per second", "/s"),
    Panel("p50", "Response time, p50", "ms"),
    Panel("p95", "Response time, p95", "ms"),
    Panel("p99", "Response time, p99", "ms"),
    Panel("errors", "Errors per second", "/s"),
)
_BUSY = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s")
_HOST = {
    **{("processor", name): Panel("busy", "Processors busy", "cores") for name in _BUSY},
    ("processor", "iowait_s"): Panel("iowait", "Processors idle, waiting for disks", "cores"),
    ("disk", "read_bytes"): Panel("disk-read", "Read from disks", "B/s"),
    ("disk", "written_bytes"): Panel("disk-written", "Written to disks", "B/s"),
    ("network", "received_bytes"): Panel("received", "Received by the network", "B/s"),
    ("memory", "available_bytes"): Panel("available", "Memory available", "B"),
    ("process", "user_s"): Panel("processes", "Processor time by process", "cores"),
    ("process", "system_s"): Panel("processes", "Processor time by process", "cores"),
    ("process", "resident_bytes"): Panel("resident", "Resident memory by process", "B"),
}
"""Source and metric of the host and of processes → the panel that shows it."""
_INSIDE = {"disk": "loop", "network": "lo"}
"""Source → prefix of instances whose traffic another instance counts already."""
_NOT_SERVER = frozenset(
    ("processor", "disk", "network", "memory", "pressure", "hardware", "cgroup", "process")
)
_MOST_OF_SERVER = 8
"""How many of a server source's metrics get a panel: the first ones sampled."""

Point = tuple[float, float]
"""Seconds since 1970, and the value."""
Line = tuple[str, str]
"""The name of a panel, and the cell or process that the line shows; empty: the host."""


@dataclass(slots=True)
class Lines:
    """The lines of a study, and the points added since the last `taken`."""

    panels: dict[str, Panel] = field(default_factory=dict)
    points: dict[Line, deque[Point]] = field(default_factory=dict)
    fresh: dict[Line, list[Point]] = field(default_factory=dict)
    _known: dict[str, Mapping[str, Metric]] = field(default_factory=dict)
    _before: dict[tuple[str, str, str, str], Sample] = field(default_factory=dict)

    def know(self, metrics: Mapping[str, Sequence[Metric]]) -> None:
        """Adds what each source samples: kinds and units of its metrics."""
        for source, known in metrics.items():
            self._known[source] = {metric.name: metric for metric in known}

    def add(self, panel: Panel, whose: str, at_unix_s: float, value: float) -> None:
        """Adds a point, unless its value or time is not finite."""
        if not math.isfinite(value) or not math.isfinite(at_unix_s):
            return
        self.panels.setdefault(panel.name, panel)
        line, point = (panel.name, whose), (round(at_unix_s, 3), float(f"{value:.5g}"))
        self.points.setdefault(line, deque(maxlen=MOST_POINTS)).append(point)
        self.fresh.setdefault(line, []).append(point)

    def samples(self, cell: str, samples: Iterable[Sample]) -> None:
        """Adds samples of one source at one instant: gauges as they are, counters per second.
        `cell` is the cell whose server was sampled; empty: the host."""
        sums: dict[tuple[Panel, str], float] = {}
        at_unix_s = 0.0
        for sample in samples:
            panel = self._panel(sample)
            value = None if panel is None else self._value(cell, sample)
            if panel is not None and value is not None:
                apart = sample.instance if sample.source == "process" else ""
                line = panel, ": ".join(filter(None, (cell, apart)))
                sums[line] = sums.get(line, 0.0) + value
                at_unix_s = sample.unix_ns / 1e9
        for (panel, whose), value in sums.items():
            self.add(panel, whose, at_unix_s, value)

    def taken(self) -> dict[Line, list[Point]]:
        """Points since the last call."""
        fresh, self.fresh = self.fresh, {}
        return fresh

    def _panel(self, sample: Sample) -> Panel | None:
        """The panel that shows it; most samples of the host have none."""
        if sample.source == "processor" and sample.instance:
            return None  # Of a single core: the panels show the sum.
        inside = _INSIDE.get(sample.source)
        if inside is not None and sample.instance.startswith(inside):
            return None
        panel = _HOST.get((sample.source, sample.metric))
        if panel is not None or sample.source in _NOT_SERVER:
            return panel
        metric = self._known.get(sample.source, {}).get(sample.metric)
        name = f"{sample.source}.{sample.metric}"
        there = [known for known in self.panels if known.startswith(f"{sample.source}.")]
        if metric is None or (name not in there and len(there) >= _MOST_OF_SERVER):
            return None
        unit = f"{metric.unit}/s" if metric.kind == "counter" else metric.unit
        return Panel(name, f"{sample.source}: {metric.text}", unit)

    def _value(self, cell: str, sample: Sample) -> float | None:
        metric = self._known.get(sample.source, {}).get(sample.metric)
        if metric is None or metric.kind != "counter":
            return None if metric is None else sample.value
        key = cell, sample.source, sample.metric, sample.instance
        before = self._before.get(key)
        apart_ns = _LEAST_APART_NS if before is None else sample.unix_ns - before.unix_ns
        if 0 <= apart_ns < _LEAST_APART_NS:
            return None
        self._before[key] = sample
        if before is None or apart_ns < 0 or sample.value < before.value:
            return None
        return (sample.value - before.value) / ((sample.unix_ns - before.unix_ns) / 1e9)


def rank_of(panel: Panel) -> int:
    """A panel's place on the page: the load's come first, then the host's, then the server's."""
    every = [*LOAD, *dict.fromkeys(_HOST.values())]
    return every.index(panel) if panel in every else len(every)


def add_interval(
    lines: Lines, cell: str, record: Mapping[str, object], origin_s: float
) -> Mapping[str, object]:
    """Adds an interval of the engine's records to the load's panels and returns its figures; none
    for a malformed record or one outside of `LOADED`."""
    with suppress(KeyError, TypeError, ValueError, AttributeError, EngineError):
        return _add_interval(lines, cell, record, origin_s)
    return {}


def _add_interval(
    lines: Lines, cell: str, record: Mapping[str, object], origin_s: float
) -> Mapping[str, object]:
    start_ns, end_ns = require_number(record["start_ns"]), require_number(record["end_ns"])
    length_s, at_s = (end_ns - start_ns) / 1e9, origin_s + end_ns / 1e9
    counters = cast("Mapping[str, object]", record["counters"])
    if length_s <= 0 or record["phase"] not in LOADED:
        return {}
    rates = {
        name: require_number(counters[name]) / length_s
        for name in ("events", "reads", "writes", "other", "errors")
    }
    histograms = cast("Sequence[Mapping[str, object]]", record["histograms"])
    records = (HistogramRecord(**record) for record in histograms)  # type: ignore[arg-type]
    histogram = merge_histograms(map(decode, event_responses(records)))
    times_ms: dict[str, float] = {}
    if histogram.get_total_count():
        there_ns = percentiles(histogram, _RANKS.values())
        times_ms = {name: ns / 1e6 for name, ns in zip(_RANKS, there_ns, strict=True)}
    values = {"throughput": rates["events"], "errors": rates["errors"], **times_ms}
    for panel in LOAD:
        if panel.name in values:
            lines.add(panel, cell, at_s, values[panel.name])
    return {
        "cell": cell,
        "at": at_s,
        "phase": record["phase"],
        "clients": record["clients"],
        "codes": record.get("errors") or {},
        **{f"{name}_per_s": rate for name, rate in rates.items()},
        **{f"{name}_ms": value for name, value in times_ms.items()},
    }
