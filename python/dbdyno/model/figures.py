"""The figures of a step: one list, for files, verdicts, tables and charts.

What the engine tells is read from its summary. What an event cost the machine comes from counters
that were sampled beside the load: a figure names them here, and whoever reads a store works them
out. Any other sampled metric is a figure by its own name, `source.metric`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dbdyno.model.load import MAIN
from dbdyno.model.result import PERCENTILES, StepSummary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counted:
    """Sampled counters whose growth, added up, is one amount."""

    source: str
    metrics: tuple[str, ...]
    instance: str | None = None
    """`None`: the sum over all there are, or of disks the one with the server's data."""
    factor: float = 1.0
    """From the counters' unit to the figure's."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A metric by its own name: over a step, the mean of a gauge, the growth a second of a
    counter."""

    source: str
    metric: str
    instance: str | None = None

    @classmethod
    def parse(cls, name: str) -> Sampled | None:
        """`source.metric`, or `source.metric.instance`; `None` if it is no such name."""
        match = _SAMPLED.fullmatch(name)
        return cls(match[1], match[2], match[3]) if match else None


_SAMPLED = re.compile(r"([a-z]\w*)\.([a-z]\w*)(?:\.(\S+))?")


MAX_EVENTS = 10_000
"""Least number of events for the greatest response time to decide: as many as p99.9 needs. It has
no rank of its own and grows with the number of events; of fewer it is a percentile that nobody
named, and one event decides."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one step of one run."""

    title: str
    unit: str
    higher_is_better: bool
    read: Callable[[StepSummary], float | None]
    """Reads it; `None` if it was not measured."""
    least_events: int = 1
    """Least number of events for the step to say anything about it: ten beyond the rank of a
    percentile; for the greatest, `MAX_EVENTS`."""
    rate: bool = False
    """Whether it counts by time, so that a change is `faster` or `slower`."""
    events: Callable[[StepSummary], int] = lambda summary: summary.events
    """How many events it is based on."""
    counted: tuple[Counted, ...] = ()
    """What it is the growth of, per event, of those there are; `read` then finds it worked out."""
    share: bool = False
    """How many of the events it is true of: compared by its difference, not by its ratio."""

    @property
    def label(self) -> str:
        """With its unit, unless its words say it."""
        return f"{self.title}, {self.unit}" if self.unit not in ("", "/s") else self.title

    @property
    def words(self) -> str:
        """The title within a sentence; names and abbreviations keep their case."""
        return self.title if self.title[1:2].isupper() else self.title[:1].lower() + self.title[1:]

    def factor(self, unit: str) -> float | None:
        """What a value is multiplied by to be in `unit`, as somebody else may have told it; `None`
        where that makes no sense. Empty is the figure's own; rates may be per minute or hour."""
        if unit in ("", self.unit):
            return 1.0
        if self.unit in _OF_A_MICROSECOND:
            per_microsecond = _OF_A_MICROSECOND.get(unit)
            return (
                None if per_microsecond is None else per_microsecond / _OF_A_MICROSECOND[self.unit]
            )
        if unit in _OF_A_MICROSECOND:
            return None
        per = unit.rpartition("/")[2]
        return {"min": 60.0, "h": 3600.0}.get(per, 1.0) if self.rate else 1.0


_OF_A_MICROSECOND = {"us": 1.0, "µs": 1.0, "ms": 1e-3, "s": 1e-6, "min": 1 / 60e6}


def find_figure(name: str) -> Figure:
    """A figure by the name studies use: one of `FIGURES`, one of those of the events of one label
    (`p95.payment`), or one that only a tool tells.

    Raises `KeyError` for a name that none of them can have: a tool's figures end in a unit, which
    says whether more of it is better (`read_iops`, `write_bytes_per_s`, `read_us_p99.reader`);
    a sampled metric is called by its source (`mysql.history_list`).
    """
    if name in FIGURES:
        return FIGURES[name]
    of_label = [base for base in _LABEL_FIGURES if name.startswith(f"{base}.")]
    if of_label:
        base = max(of_label, key=len)  # `p99.9.payment` is of `p99.9`.
        return _of_label(base, name.removeprefix(f"{base}."))
    for mark, (unit, better) in _TOOL_UNITS.items():
        if mark in name.partition(".")[0]:
            return Figure(
                _of_tool(name),
                unit,
                better,
                _worked_out(name),
                rate=better,
                share=mark == _SHARE,
            )
    if Sampled.parse(name):
        return Figure(name, "", False, _worked_out(name))
    raise KeyError(name)


def _of_tool(name: str) -> str:
    """A tool's figure in words: `read_us_p99.reader` is "Response time of reads, p99, reader"."""
    base, _, part = name.partition(".")
    words, _, rank = base.partition("_us_")
    subject = _OF_TOOLS.get(words.split("_")[0], words.replace("_", " "))
    if rank:
        title = f"Response time of {subject}, {rank}"
    elif base.endswith("_iops"):
        title = f"{subject} per second"
    elif base.endswith("_bytes_per_s"):
        title = f"bytes of {subject} per second"
    else:
        title = base.replace("_per_s", " per second").replace("_", " ")
    return f"{title[:1].upper()}{title[1:]}" + (f", {part}" if part else "")


_OF_TOOLS = {"read": "reads", "write": "writes", "sync": "syncs"}


def _worked_out(name: str) -> Callable[[StepSummary], float | None]:
    return lambda summary: summary.figures.get(name)


_SHARE = "_share"
_TOOL_UNITS: Mapping[str, tuple[str, bool]] = {
    "_iops": ("/s", True),
    "_per_s": ("/s", True),
    "_us": ("µs", False),
    "_ms": ("ms", False),
    _SHARE: ("of events", False),
}


def _latency(name: str) -> Callable[[StepSummary], float | None]:
    return lambda summary: summary.latency_us.get(name)


def _percentile(name: str, rank: float) -> Figure:
    least = round(10 / (1 - rank / 100))
    return Figure(f"Response time, {name}", "µs", False, _latency(name), least_events=least)


def _spent_s(mean_us: float | None, events: int, clients: int) -> float | None:
    """Time that clients spent within events, by client; `None` where there was no event."""
    return None if mean_us is None or not clients else mean_us * events / clients / 1e6


_CPU = ("user_s", "system_s")
_KERNEL = ("system_s", "irq_s", "softirq_s")

_PER_EVENT: Mapping[str, tuple[str, str, tuple[Counted, ...]]] = {
    "server_cpu_us_per_event": (
        "Server CPU", "µs", (Counted("process", _CPU, "server", 1e6),)
    ),
    "client_cpu_us_per_event": (
        "Client CPU", "µs", (Counted("process", _CPU, "client", 1e6),)
    ),
    "kernel_cpu_us_per_event": (
        "Kernel CPU of the machine", "µs", (Counted("processor", _KERNEL, "", 1e6),)
    ),
    "server_switches_per_event": (
        "Server's context switches",
        "",
        (Counted("process", ("voluntary_switches", "involuntary_switches"), "server"),),
    ),
    "server_instructions_per_event": (
        "Server's instructions", "", (Counted("hardware", ("instructions",)),)
    ),
    "server_llc_misses_per_event": (
        "Server's misses of the last-level cache", "", (Counted("hardware", ("llc_misses",)),)
    ),
    "server_dtlb_misses_per_event": (
        "Server's misses of the data TLB",
        "",
        (Counted("hardware", ("dtlb_load_misses", "dtlb_store_misses")),),
    ),
    "disk_reads_per_event": ("Disk reads", "", (Counted("disk", ("reads",)),)),
    "disk_writes_per_event": ("Disk writes", "", (Counted("disk", ("writes",)),)),
    "disk_read_kib_per_event": (
        "Read from disk", "KiB", (Counted("disk", ("read_bytes",), factor=1 / 1024),)
    ),
    "disk_written_kib_per_event": (
        "Written to disk", "KiB", (Counted("disk", ("written_bytes",), factor=1 / 1024),)
    ),
    "disk_flushes_per_event": ("Disk flushes", "", (Counted("disk", ("flushes",)),)),
    # PostgreSQL counts syncs of its log by themselves up to 17, and among all others since.
    "syncs_per_event": (
        "Server's fsyncs",
        "",
        (Counted("mysql", ("syncs",)), Counted("postgresql", ("wal_syncs", "io_syncs"))),
    ),
    "log_bytes_per_event": (
        "Redo or write-ahead log",
        "B",
        (Counted("mysql", ("redo_bytes",)), Counted("postgresql", ("wal_bytes",))),
    ),
    "network_bytes_per_event": ("Network, both ways", "B", ()),
    "data_bytes_per_event": ("Growth of the data on disk", "B", ()),
}  # fmt: skip


FIGURES: Mapping[str, Figure] = {
    "throughput": Figure("Throughput", "events/s", True, lambda s: s.events_per_s, rate=True),
    "max_rate": Figure(
        "Highest rate that meets the objective",
        "events/s",
        True,
        lambda s: s.search.rate_per_s if s.search else None,
        rate=True,
    ),
    "statements_per_s": Figure(
        "Statement rate", "statements/s", True, lambda s: s.statements_per_s, rate=True
    ),
    **{name: _percentile(name, rank) for name, rank in PERCENTILES.items()},
    "max": Figure("Response time, max", "µs", False, _latency("max"), least_events=MAX_EVENTS),
    "mean": Figure("Response time, mean", "µs", False, _latency("mean")),
    "spent_s": Figure(
        "Time spent by a client",
        "s",
        False,
        lambda s: _spent_s(s.latency_us.get("mean"), s.events, s.clients),
    ),
    "client_cpu": Figure(
        "Client CPU per statement", "µs", False, lambda s: s.client_cpu_us_per_statement
    ),
    "bytes_per_statement": Figure(
        "Bytes on the wire per statement", "bytes", False, lambda s: s.bytes_per_statement
    ),
    "data_bytes": Figure("Data on disk at the end", "B", False, _worked_out("data_bytes")),
    "stop_s": Figure("Time the server took to stop", "s", False, _worked_out("stop_s")),
    **{
        name: Figure(f"{title} per event", unit, False, _worked_out(name), counted=counted)
        for name, (title, unit, counted) in _PER_EVENT.items()
    },
}

PER_EVENT = tuple(_PER_EVENT)
"""Names of the figures of what an event costs."""

_LABEL_FIGURES = ("throughput", *PERCENTILES, "max", "mean", "spent_s")
"""Those that the events of one label have as well."""


def label_of(name: str) -> str | None:
    """The label whose events a figure is of: `mean.first` is of `first`; `None`: of all events."""
    if name in FIGURES:
        return None
    bases = [base for base in _LABEL_FIGURES if name.startswith(f"{base}.")]
    return name.removeprefix(f"{max(bases, key=len)}.") if bases else None


def _of_label(base: str, label: str) -> Figure:
    """A figure of the events that a script calls `label`; of another group than the step's own
    clients, `group/label`."""
    names = (label, f"{MAIN}/{label}")
    tags = [f"event.{name}.{time}" for name in names for time in ("response", "service")]

    def events(summary: StepSummary) -> int:
        return _first(summary.events_by_label, names, 0)

    def read(summary: StepSummary) -> float | None:
        times = _first(summary.latency_by_label_us, tags, {})
        if base == "throughput":
            return events(summary) / summary.window_s if summary.window_s > 0 else None
        if base == "spent_s":
            return _spent_s(times.get("mean"), events(summary), summary.clients)
        return times.get(base)

    known = FIGURES[base]
    return replace(known, title=f"{known.title}, {label}", read=read, events=events)


def _first(values: Mapping[str, T], names: Sequence[str], otherwise: T) -> T:
    return next((values[name] for name in names if name in values), otherwise)
