"""The stored results of a run: `manifest.json` and `summary.json` as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbdyno.model.fault import FaultResult
from dbdyno.model.load import Option
from dbdyno.model.load_host import LoadHost
from dbdyno.model.measurement import Backlog
from dbdyno.model.search import RateSearch

RunStatus = Literal["complete", "interrupted", "failed"]

PERCENTILES: Mapping[str, float] = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
"""The ranks printed and stored, by their name; `max` stands beside them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run is not complete. `kind` is the exception's name, `exit_code` its code."""

    kind: str
    message: str
    exit_code: int
    hint: str | None = None
    traceback: str | None = None
    """The place in a script."""


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """A phase of a run by the wall clock: `provision`, `prepare`, `step 0` …, `collect`, `stop`."""

    name: str
    start_unix_s: float
    end_unix_s: float


@dataclass(frozen=True, slots=True)
class Note:
    """A note that somebody added while a study ran, shown as a mark over time."""

    unix_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class TableFill:
    """A table after loading: what was sent, and what the server has."""

    command: str
    """The engine's call that loaded it: `prepare`, or `prepare-<group>`."""
    table: str
    sent: int | None
    """Rows of bulk inserts; `None`: the script filled it in another way."""
    rows: int | None = None
    checksum: str | None = None
    """Checksum of the contents (see `servers/contents.py`); `None`: not requested."""
    took_s: float = 0.0
    """Seconds to read it."""
    problem: str | None = None
    """Why it could not be read."""


@dataclass(frozen=True, slots=True)
class Canary:
    """How fast short known work went while nothing was under load. Rates a second."""

    spin: float
    """Checksums of 256 KiB, on all processors that the lab may use."""
    copy: float
    """Bytes copied in memory by one thread."""
    fsync: float | None
    """Writes of 4 KiB made durable where servers have their data; `None` where that failed."""
    round_trip: float
    """64 bytes there and back over the loopback interface by one thread."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One turn of one cell: seconds of load while the other cells of its block were idle."""

    step: int
    round: int
    """From 0; in each round every cell has one turn. Turns of a round are compared."""
    position: int
    """Place among the turns of the round, from 0."""
    start_unix_ns: int
    """When the window began, behind the lead-in."""
    end_unix_ns: int
    """When the last event that began in the window may have begun."""
    drained_unix_ns: int
    """End of the last event in flight."""
    window_s: float
    events: int
    statements: int
    errors: int
    client_cpu_us: int
    """CPU time of the engine in the window."""
    turn_events: int
    """Of the whole turn, lead-in and drain included."""
    p50_us: float | None
    """Response time; `None` without an event."""
    p95_us: float | None
    p99_us: float | None
    max_us: float | None
    steal_s: float | None
    """CPU time taken by the hypervisor; `None` if the kernel doesn't report it."""
    steal_over_s: float | None = None
    """Length of the stretch that `steal_s` and `held_back_s` are of, lead-in and drain included."""
    held_back_s: float | None = None
    """CPU time for which a limit on the lab's own control group, such as a container's quota, kept
    its processes from running; `None`: unknown."""
    speed: float | None = None
    """How fast the processors were in the window, in rounds of known work per microsecond, all
    together; `None`: not measured."""
    before: Canary | None = None
    """The machine just before the turn; `None` where no canary ran then."""
    after: Canary | None = None
    """The machine just after the turn, which is the next one's `before`."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step as carried out."""

    index: int
    clients: int
    seed: int
    status: RunStatus
    engine_start_unix_ns: int | None
    """Wall clock at the origin of the step's `_s` and `_ns` times."""
    reactor: str | None
    shards: int | None
    scheduling: str | None = None
    clock: str | None = None
    shards_bound: bool | None = None
    """Each shard stayed on one processor; engines that did not say bound none."""
    processes: int | None = None
    """Of the engine; older manifests do not say."""
    warnings: tuple[Mapping[str, object], ...] = ()
    ended_unix_ns: int | None = None
    """When the window of a program other than the engine ended, by the wall clock."""
    hosts: tuple[LoadHost, ...] = ()
    """Load hosts; empty: the load came from the lab's machine."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a result was imported from."""

    name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Imported:
    """Results of another tool, which dbdyno has only read."""

    tool: str
    version: str
    """As reported by the tool; empty: unknown."""
    files: tuple[SourceFile, ...]
    dated_by: Literal["tool", "file"]
    """Whether the tool says when its run was, or only the date of the file does."""
    not_known: tuple[str, ...]
    """What none of these files says, such as `host`, `server`, `errors`."""
    arrival: Literal["closed", "open", "unknown"] = "unknown"
    """How events started, as far as the text says it; older imports did not look."""
    absent: tuple[str, ...] = ()
    """Usual lines of the tool that its text hasn't."""
    unread: tuple[str, ...] = ()
    """Lines of the result that weren't understood."""


@dataclass(frozen=True, slots=True)
class LabCost:
    """CPU time of the lab itself, including its collectors, during the steps; where cells take
    turns, during this one's turns."""

    cpu_s: float
    """Processor time of all its threads."""
    wall_s: float
    """How long they took."""
    server_cpu_s: float | None = None
    """Processor time of this run's server for the collectors' queries; `None`: not known."""


ScriptOrigin = Literal["bundled", "sysbench", "own"]


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """The file that a run's script was read from."""

    origin: ScriptOrigin
    """Bundled with dbdyno, of an installed sysbench, or somebody's own."""
    sha256: str
    """Of the file and of the files beside it that it requires."""


@dataclass(frozen=True, slots=True)
class RunManifest:
    """The head of a run folder."""

    id: str
    study: str
    scale: str
    plan: str
    """Fingerprint of the plan the run belongs to."""
    status: RunStatus
    cell: Mapping[str, str]
    provision: str
    settings: Mapping[str, str]
    script: str
    options: Mapping[str, Option]
    block: int
    position: int
    seed: int
    data_seed: int
    started_unix_s: float
    ended_unix_s: float
    command_lines: tuple[str, ...]
    versions: Mapping[str, str]
    """`dbdyno`, `engine`, `engine_schema`, `luajit`, `python`, `server`."""
    environment_id: str
    phases: tuple[PhaseSpan, ...]
    steps: tuple[StepResult, ...]
    server: Mapping[str, object]
    """What the server said about itself, its size on disk and its counters around the steps."""
    loads: tuple[TableFill, ...] = ()
    """Tables that were verified after loading."""
    load_warnings: tuple[Mapping[str, object], ...] = ()
    """Of the engine's calls that loaded them."""
    error: Failure | None = None
    host: Mapping[str, object] = field(default_factory=dict)
    """Setter → what the cell asked for."""
    generator: str = "engine"
    connection: Mapping[str, bool | str] = field(default_factory=dict)
    """What the cell said of its clients' connections."""
    proxy: Mapping[str, object] = field(default_factory=dict)
    """The proxy in front of the server."""
    topology: Mapping[str, object] = field(default_factory=dict)
    """The topology of the server; see `Cell.topology`."""
    batch: tuple[str, ...] = ()
    """Ids of the runs that were up at the same time, this one's included."""
    collected: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Source → the cost of sampling it, or why it could not be read."""
    lab: LabCost | None = None
    """`None`: not counted. For runs up at the same time: of all together."""
    attempt: int = 1
    """From 1; a run that failed or was interrupted is attempted again by `resume`."""
    imported: Imported | None = None
    """Where its figures come from, if dbdyno has not measured them."""
    script_file: ScriptFile | None = None
    """`None`: the generator takes no script, or an earlier version did not say."""
    schema: int = 1


@dataclass(frozen=True, slots=True)
class StepSummary:
    """The figures of one step: what the engine's summary says and what follows from it."""

    step: int
    clients: int
    interrupted: bool
    window_s: float
    events: int
    statements: int
    events_per_s: float
    statements_per_s: float
    errors: int
    errors_by_code: Mapping[str, int]
    restarts: int
    reconnects: int
    latency_us: Mapping[str, float]
    """Response time of events: `p50`, `p95`, `p99`, `p99.9`, `max`, `mean`. Empty: no event."""
    latency_by_label_us: Mapping[str, Mapping[str, float]]
    """The same, and `min`, for every `<subject>.<label>.<time>`."""
    client_cpu_us_per_statement: float | None
    client_rss_kb: int
    client_rss_peak_kb: int
    total_statements: int
    """Over the whole step, including warm-up and drain: equals the server's own counters."""
    total_events: int
    wait_us: Mapping[str, float] = field(default_factory=dict)
    """How long events stood behind their intended start, as `latency_us`; empty: closed loop."""
    service_us: Mapping[str, float] = field(default_factory=dict)
    """From start to end; in a closed loop it is the latency."""
    lag_us: Mapping[str, float] = field(default_factory=dict)
    """How late the generator was with clients free to start; empty: closed loop."""
    queued_us: Mapping[str, float] = field(default_factory=dict)
    """How long statements were ready before the kernel got their bytes; empty: in process."""
    unread_us: Mapping[str, float] = field(default_factory=dict)
    """How long replies lay unread, at most; empty: in process."""
    backlog: Backlog = field(default_factory=Backlog)
    censored: int | None = None
    """Events of the window that had not ended at its end; their times are lower bounds. `None`: no
    generator counted them."""
    p99_us_at_most: float | None = None
    """The 99th percentile of response times if all censored events had taken longer than it;
    `None`: it has no upper bound, or nobody counted them."""
    events_by_label: Mapping[str, int] = field(default_factory=dict)
    """Events in the window, by group, and by `group/name` where the script names its events."""
    record: Mapping[str, object] = field(default_factory=dict)
    """The engine's summary record as it came; of an imported step its `histograms`, if any."""
    generator: str = "engine"
    """The load generator."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What a generator tells beside these, by its own names with their units last."""
    bytes_per_statement: float | None = None
    """Sent and received in the window, as they went through the socket; `None`: in process."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    """Events by outcome, if the generator classifies them."""
    search: RateSearch | None = None
    """The probes of a search for a rate; the other figures are those of its chosen one."""
    against: tuple[str, ...] = ()
    """What another tool says against its own figures: why verdicts leave the step out."""
    faults: tuple[FaultResult, ...] = ()
    """What was done to the servers in the window, in order."""
    probe_errors: Mapping[str, int] = field(default_factory=dict)
    """Failed attempts of the probes beside faults, by code."""
    redirects: int = 0
    """Requests that a node of a cluster sent on to another one: no statements, and no errors."""
