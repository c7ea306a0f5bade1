"""The figures of a step: one list, for files, verdicts, tables and charts.

What the engine tells is read from its summary. What an event cost the machine comes from counters
that were sampled beside the load: a figure names them here, and whoever reads a store works them
out. Any other sampled metric is a figure by its own name, `source.metric`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dbdyno.model.figure import MAX_EVENTS, Counted, Figure, Sampled
from dbdyno.model.limits import attempted
from dbdyno.model.load import MAIN
from dbdyno.model.result import PERCENTILES, StepSummary

T = TypeVar("T")


PER_DOLLAR = "events_per_dollar"
"""Events of an hour at the window's rate, over what the hour costs by the study's `prices`."""


def find_figure(name: str) -> Figure:
    """A figure by the name studies use: one of `FIGURES`, one of those of the events of one label
    (`p95.payment`), the ratio of two of them (`mean.first over mean.later`), or one that only a
    tool tells.

    Raises `KeyError` for a name that none of them can have: a tool's figures end in a unit, which
    says whether more of it is better (`read_iops`, `write_bytes_per_s`, `read_us_p99.reader`);
    a sampled metric is called by its source (`mysql.history_list`).
    """
    if name in FIGURES:
        return FIGURES[name]
    if OVER in name:
        return _ratio(*name.split(OVER, 1))
    of_label = [base for base in _LABEL_FIGURES if name.startswith(f"{base}.")]
    if of_label:
        base = max(of_label, key=len)  # `p99.9.payment` is of `p99.9`.
        label = name.removeprefix(f"{base}.")
        if not label.endswith(ANY):
            return _of_label(base, label)
        if base in _ADDED_UP:
            return _of_labels(base, label.removesuffix(ANY))
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


def _ratio(above: str, below: str) -> Figure:
    """The ratio of two figures of the same run, in the same unit; raises `KeyError` for others."""
    if OVER in below:
        raise KeyError(below)
    a, b = find_figure(above), find_figure(below)
    if a.unit != b.unit or a.share or b.share or a.counted or b.counted:
        raise KeyError(f"{above}{OVER}{below}")

    def read(summary: StepSummary) -> float | None:
        x, y = a.read(summary), b.read(summary)
        return x / y if x is not None and y else None

    def events(summary: StepSummary) -> int:
        return min(a.events(summary), b.events(summary))

    least, title = max(a.least_events, b.least_events), _over(a.title, b.title, b.words)
    return Figure(title, "", a.higher_is_better, read, least_events=least, events=events)


def _over(above: str, below: str, words: str) -> str:
    """Title of a ratio from those of its two figures, without what they have in common: of two
    labels the figure, of two metrics of one source the source."""
    same, _, label = below.rpartition(", ")
    if same and above.startswith(f"{same}, "):
        return f"{above} over {label}"
    ours, theirs = Sampled.parse(above), Sampled.parse(below)
    if ours and theirs and ours.source == theirs.source:
        metrics = (f"{side.metric} {side.instance or ''}".strip() for side in (ours, theirs))
        title = " over ".join(metrics).replace("_", " ")
        return f"{title[:1].upper()}{title[1:]}"
    return f"{above} over {words}"


def _of_tool(name: str) -> str:
    """A tool's figure in words: `read_us_p99.reader` is "Response time of reads, p99, reader"."""
    base, _, part = name.partition(".")
    probe, is_outage, rank = base.partition("_outage_ms_")
    if is_outage:
        return f"{_RANKS.get(rank, rank)} time without {_PROBES.get(probe, probe)}"
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


_PROBES = {"write": "writes", "read": "reads", "connect": "new connections"}
_RANKS = {"p50": "Median", "p95": "95th percentile of the", "max": "Longest"}
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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _attempts(summary: StepSummary) -> int:
    """At events: those that ended, and each time that one was begun anew."""
    return summary.events + summary.restarts


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


_OF_SERIES: Mapping[str, tuple[str, bool]] = {
    "rate_held": ("Rate at the end over that at the beginning", True),
    "rate_cv": ("Coefficient of variation of throughput", False),
}

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
    "error_share": Figure(
        "Statements that failed",
        "of statements",
        False,
        lambda s: _share(s.errors, attempted(s)),
        share=True,
        tries=attempted,
    ),
    "retry_share": Figure(
        "Attempts that were retried",
        "of attempts",
        False,
        lambda s: _share(s.restarts, _attempts(s)),
        share=True,
        tries=_attempts,
    ),
    PER_DOLLAR: Figure("Events per dollar", "", True, _worked_out(PER_DOLLAR)),
    "data_bytes": Figure("Data on disk at the end", "B", False, _worked_out("data_bytes")),
    "stop_s": Figure("Time the server took to stop", "s", False, _worked_out("stop_s")),
    **{
        name: Figure(title, "", higher, _worked_out(name))
        for name, (title, higher) in _OF_SERIES.items()
    },
    **{
        name: Figure(f"{title} per event", unit, False, _worked_out(name), counted=counted)
        for name, (title, unit, counted) in _PER_EVENT.items()
    },
}

PER_EVENT = tuple(_PER_EVENT)
"""Names of the figures of what an event costs."""

OF_SERIES = tuple(_OF_SERIES)
"""Names of the figures of how throughput goes within a window, interval by interval."""

OVER = " over "
"""Between the names of two figures: their ratio, of the same run."""

ANY = "*"
"""At the end of a label: the events of all labels that begin with what stands before it."""

_LABEL_FIGURES = ("throughput", *PERCENTILES, "max", "mean", "spent_s")
"""Those that the events of one label have as well."""

_ADDED_UP = ("throughput", "mean", "spent_s")
"""Those that events of several labels have together."""


def label_of(name: str) -> str | None:
    """The label whose events a figure is of: `mean.first` is of `first`; `None`: of all events."""
    if name in FIGURES or OVER in name:
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


def _of_labels(base: str, beginning: str) -> Figure:
    """A figure of all events whose labels begin so, together: `spent_s.query *`."""

    def labels(summary: StepSummary) -> Sequence[str]:
        names = summary.events_by_label
        return [name for name in names if name.removeprefix(f"{MAIN}/").startswith(beginning)]

    def events(summary: StepSummary) -> int:
        return sum(summary.events_by_label[name] for name in labels(summary))

    def read(summary: StepSummary) -> float | None:
        number = events(summary)
        if base == "throughput":
            return number / summary.window_s if summary.window_s > 0 else None
        spent_us = 0.0
        for name in labels(summary):
            tags = [f"event.{name}.{time}" for time in ("response", "service")]
            mean_us = _first(summary.latency_by_label_us, tags, {}).get("mean")
            if mean_us is None:
                return None
            spent_us += mean_us * summary.events_by_label[name]
        mean = spent_us / number if number else None
        return _spent_s(mean, number, summary.clients) if base == "spent_s" else mean

    known = FIGURES[base]
    return replace(known, title=f"{known.title}, {beginning}…", read=read, events=events)


def _first(values: Mapping[str, T], names: Sequence[str], otherwise: T) -> T:
    return next((values[name] for name in names if name in values), otherwise)
