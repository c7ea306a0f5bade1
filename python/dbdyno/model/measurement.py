"""The engine's measurements: its records as values. Types follow `crates/record/src/stream.rs`.

Times named `_ns` count from the engine's start on the monotonic clock, unless named `unix`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

PhaseName = Literal["connect", "warm-up", "measure", "drain", "pause", "finish"]
Subject = Literal["event", "statement", "lag", "failed"]
TimeKind = Literal["wait", "service", "response"]
FatalKind = Literal["usage", "script", "connection", "statement", "environment", "internal"]


@dataclass(frozen=True, slots=True)
class Hello:
    """The engine and its configuration. Always the first record."""

    schema: int
    engine_version: str
    luajit_version: str
    reactor: str
    shards: int
    pid: int
    start_unix_ns: int
    seed: int
    scheduling: str = "other"
    """The kernel's policy for the shards; engines that did not say had the kernel's default."""
    clock: str = "kernel"
    """Where times come from, `processor` (its counter) or `kernel`; engines that did not say asked
    the kernel."""
    shards_bound: bool = False
    """Each shard stays on one processor; engines that did not say bound none."""


def named_shards(count: int, *, bound: bool) -> str:
    """So many shards as people read them; `bound`: each stayed on one processor."""
    return f"{count}{' bound' if bound else ''} shard{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Phase:
    """The run enters a phase."""

    phase: PhaseName
    at_ns: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a long phase (`connections`, `rows`); `total` is 0 if unknown."""

    what: str
    done: int
    total: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Ready:
    """All clients are ready; the engine waits for the order to begin."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Output:
    """A line the script printed."""

    text: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows that bulk inserts have stored in a table, which is named as the script wrote it."""

    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters over a stretch of time."""

    events: int
    reads: int
    writes: int
    other: int
    errors: int
    restarts: int
    reconnects: int
    bytes_sent: int
    bytes_received: int
    unfinished: int = 0
    """Events started and abandoned: the load ended before they did."""
    begun: int = 0
    """Events started: over a whole run `events` + `unfinished` + `uncounted`."""
    uncounted: int = 0
    """Events that ended but are not counted, as their script demands."""
    redirects: int = 0
    """Requests that a node of a cluster sent on to another one: no statements, and no errors."""

    @property
    def statements(self) -> int:
        """Statements that succeeded; the failed ones are `errors`."""
        return self.reads + self.writes + self.other


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU time of the engine's process."""

    user_us: int
    system_us: int

    @property
    def total_us(self) -> int:
        """User and kernel together."""
        return self.user_us + self.system_us


@dataclass(frozen=True, slots=True)
class HistogramRecord:
    """One distribution of nanoseconds; `hdr` is HdrHistogram V2, zlib-compressed, base64."""

    subject: Subject
    label: str
    time: TimeKind
    count: int
    out_of_range: int
    hdr: str


@dataclass(frozen=True, slots=True)
class Interval:
    """One reporting interval, all shards merged; never spans two phases."""

    index: int
    phase: PhaseName
    start_ns: int
    end_ns: int
    clients: int
    counters: Counters
    errors: Mapping[str, int]
    backlog: int
    cpu: CpuTime
    histograms: tuple[HistogramRecord, ...]
    busy: int = 0
    """Clients that were executing an event at the end, or about to."""
    turn: int | None = None
    """The turn it belongs to; none in a pause, and in a run without turns."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of load: a lead-in that is discarded, a window, and the drain of events in flight.

    Its distributions are of events intended to start in the window, whenever they ended, and of
    statements that ended in it.
    """

    index: int
    begin_ns: int
    measure_ns: int
    """Beginning of the window."""
    end_ns: int
    """End of the window."""
    drained_ns: int
    """End of the last event in flight."""
    interrupted: bool
    """The run ended before the turn did; its window is shorter than ordered."""
    clients: int
    measured: Counters
    """Counted in the window."""
    total: Counters
    """Counted in lead-in, window and drain."""
    errors: Mapping[str, int]
    """In the window, by code."""
    backlog: int
    """Events intended in the turn and never started (open loop)."""
    censored: int
    """Events in the distributions that never ended. They are recorded with their time so far,
    which is less than their true time."""
    cpu: CpuTime
    """CPU time of the engine in the window."""
    total_cpu: CpuTime
    """In lead-in, window and drain."""
    histograms: tuple[HistogramRecord, ...]

    @property
    def window_s(self) -> float:
        """Length of the window."""
        return (self.end_ns - self.measure_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events due and not started, in the window of an open loop; 0 in a closed one."""

    at_end: int = 0
    highest: int = 0


@dataclass(frozen=True, slots=True)
class EngineWarning:
    """Something a reader of the figures should know."""

    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Fatal:
    """The run can't continue, or a function that follows it failed (`callback`)."""

    kind: FatalKind
    message: str
    hint: str | None = None
    traceback: str | None = None
    callback: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole measured window, and totals of the run around it."""

    interrupted: bool
    start_ns: int
    end_ns: int
    measured: Counters
    total: Counters
    errors: Mapping[str, int]
    cpu: CpuTime
    rss_peak_kb: int
    rss_kb: int
    clients: int
    histograms: tuple[HistogramRecord, ...]
    measured_ns: int | None = None
    """Length of the window, of all turns' windows together; engines that did not say had one window
    from `start_ns` to `end_ns`."""
    backlog: int = 0
    """Events intended by the end of the window and not started then (open loop)."""
    censored: int = 0
    """Events in the distributions that had not ended at the end of the window. They are recorded
    with their time so far, which is less than their true time."""

    @property
    def window_s(self) -> float:
        """Length of the window, of all turns' windows together."""
        length_ns = self.end_ns - self.start_ns if self.measured_ns is None else self.measured_ns
        return length_ns / 1e9


Record = (
    Hello
    | Phase
    | Progress
    | Ready
    | Output
    | Loaded
    | Interval
    | Turn
    | EngineWarning
    | Fatal
    | Summary
)
