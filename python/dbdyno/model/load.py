"""The load: clients, when their events start, how long, and the error policy.

Times are seconds, rates events per second over a whole group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from dbdyno.model.fault import Fault
from dbdyno.model.search import FindMax

Option = str | int | float | bool | list[str]
"""A value of a script's own option, as the engine takes it."""

ErrorAction = Literal["ignore", "restart-event", "retry", "reconnect", "end-load", "stop"]
Reactor = Literal["auto", "io-uring", "epoll"]
Scheduling = Literal["batch", "inherit"]
Bind = Literal["auto", "none", "each"]
Verify = Literal["none", "counts", "checksums"]
"""How tables are verified after loading."""

OWN_PACE = frozenset(("fio", "db_bench", "command", "damage", "ledger"))
"""Generators whose pace a job file, an option or the program itself sets."""

MAIN = "main"
"""The group of a step's own clients."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The next event of a client follows the completion of its last."""

    kind: ClassVar[str] = "closed"


@dataclass(frozen=True, slots=True)
class Constant:
    """Events start evenly spaced."""

    kind: ClassVar[str] = "constant"
    rate_per_s: float


@dataclass(frozen=True, slots=True)
class Poisson:
    """Exponential gaps with this mean rate."""

    kind: ClassVar[str] = "poisson"
    rate_per_s: float


@dataclass(frozen=True, slots=True)
class Ramp:
    """The rate changes linearly, then stays."""

    kind: ClassVar[str] = "ramp"
    from_per_s: float
    to_per_s: float
    over_s: float


@dataclass(frozen=True, slots=True)
class Steps:
    """(duration, rate) pairs; the last rate stays."""

    kind: ClassVar[str] = "steps"
    steps: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Sine:
    """`mean + amplitude × sin(2πt / period)`."""

    kind: ClassVar[str] = "sine"
    mean_per_s: float
    amplitude_per_s: float
    period_s: float


@dataclass(frozen=True, slots=True)
class Replay:
    """Start times in seconds from a file, one per line, ascending."""

    kind: ClassVar[str] = "replay"
    file: Path


Arrival = Closed | Constant | Poisson | Ramp | Steps | Sine | Replay
"""When events are intended to start. All but `Closed` are open: they don't wait for completions."""


@dataclass(frozen=True, slots=True)
class Group:
    """Clients besides the workload's own, with their own script, number and pace."""

    name: str
    clients: int
    script: str | None = None
    """`None`: the workload's, with its options."""
    options: Mapping[str, Option] = field(default_factory=dict)
    prepare: bool = False
    """Whether the script loads and drops tables of its own."""
    arrival: Arrival = Closed()
    idle: bool = False
    """Connected, without any event."""
    think_time_s: float = 0.0
    reconnect_every: int = 0
    """Reconnect after this many events of a client; 0: never."""
    entry: str = ""
    """Name or role of the members that its clients connect to, or `ALL_MEMBERS`; empty: where the
    step's own clients connect."""


ALL_MEMBERS = "all"


END_LOAD = "end-load"
"""The action that ends a window as if its time were over."""


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """The action for some errors. The first matching rule decides."""

    codes: tuple[str, ...]
    """SQLSTATEs, server error numbers, a SQLSTATE class, `connection` or `all`."""
    action: ErrorAction
    limit: int = 10
    """For actions that restart the event: how often one event is, before the run stops."""


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """Without rules: transient errors restart the event, lost connections are reconnected,
    anything else stops the run."""

    rules: tuple[ErrorRule, ...] = ()
    reconnect_s: float = 60.0
    """How long to keep reconnecting after a connection is lost."""
    back_off_s: float = 0.01
    """First pause between attempts to reconnect; doubles up to 250 ms, each ±25 % at random."""
    expected: Mapping[str, float] = field(default_factory=dict)
    """Errors that belong to the load: code → the largest share of statements (of a tool,
    operations) that may fail with it, (0, 1]."""

    @property
    def declared(self) -> Mapping[str, float]:
        """`expected`, and the errors that may end the load: few clients meet them, once each."""
        ends = [code for rule in self.rules if rule.action == END_LOAD for code in rule.codes]
        return {**dict.fromkeys(ends, 1.0), **self.expected}

    @property
    def may_end_load(self) -> bool:
        """Whether an error may end a window before its time is over."""
        return any(rule.action == END_LOAD for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Load:
    """The load steps every run goes through, in this order, and what all have in common."""

    clients: tuple[int, ...]
    warm_up_s: float
    measure_s: float | None
    """Length of the window; `None`: until `events` are done."""
    events: int | None = None
    """Stop after this many measured events; `None`: no limit."""
    interval_s: float = 1.0
    think_time_s: float = 0.0
    arrival: Arrival = Closed()
    find_max: FindMax | None = None
    """Searched for in every step; its probes have Poisson arrivals instead of `arrival`."""
    reconnect_every: int = 0
    groups: tuple[Group, ...] = ()
    """Beside the clients of the step."""
    errors: ErrorPolicy = ErrorPolicy()
    prepared_statements: bool = True
    """False: a script's prepared statements are sent as plain text."""
    reactor: Reactor = "auto"
    scheduling: Scheduling = "batch"
    """How the kernel schedules the engine: as batch threads, or as whoever started it."""
    bind: Bind = "auto"
    """Whether each shard stays on one processor; `auto`: where that was measured to pay."""
    shards: int | None = None
    """Of each engine process; `None`: by cores and clients."""
    loaders: int | None = None
    """Connections that carry the rows of bulk inserts while data is made; `None`: two a core, 16 at
    most."""
    verify: Verify = "checksums"
    processes: int | None = None
    """Engine processes; `None`: as few as may open all the sockets."""
    faults: tuple[Fault, ...] = ()
    """What is done to the servers meanwhile, by the clock of each step's window."""
    hosts: int | tuple[str, ...] = 0
    """Load hosts of a Ray cluster, so many or by their names; 0: the lab's machine. `processes` and
    `shards` are then of each."""
    ledger: int = 0
    """Clients beside the load that write without a pause and note what is acknowledged; only with
    faults."""

    def all_clients(self, step_clients: int) -> int:
        """Clients of all groups at a step."""
        return step_clients + sum(group.clients for group in self.groups)

    @property
    def is_open(self) -> bool:
        """Whether any event has an intended start."""
        arrivals = (self.arrival, *(group.arrival for group in self.groups))
        return self.find_max is not None or any(
            not isinstance(arrival, Closed) for arrival in arrivals
        )
