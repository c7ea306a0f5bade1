"""Faults: what is done to a run's servers while the load is on, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

FaultAction = Literal[
    "kill",
    "stop",
    "pause",
    "promote",
    "switch-over",
    "kill-proxy",
    "kill-server",
    "command",
    "fill-disk",
    "power-failure",
    "partition",
    "slow-network",
]
"""`kill`: SIGKILL; `stop`: in order; both are followed by a start. `pause`: SIGSTOP, then SIGCONT.
`promote`: the primary is killed and a replica promoted; `switch-over`: the same with a stop in
order; the former primary comes back as a replica. `kill-proxy`: the proxies are killed and started
again. `kill-server`: SIGKILL for the database server alone, which its supervisor starts again.
`command`: `Fault.apply` is run, then `Fault.undo`. `fill-disk`: the file system of the
member's data is full for a while. `power-failure`: what it had not synced is gone, and the member
is killed. `partition`: its link is cut; `slow-network`: its link has a rate."""
Direction = Literal["both", "in", "out"]
POWER_FAILURE: FaultAction = "power-failure"
ON_LINKS: Sequence[FaultAction] = ("partition", "slow-network")
PROMOTIONS: Sequence[FaultAction] = ("promote", "switch-over")

ACTIVE = "active"
"""The member that serves the clients when the fault comes."""
PROBES = ("write", "read", "connect")
"""What probes try repeatedly beside the load: to insert a row, to read one, to connect anew."""


LEDGER = "ledger"
"""Clients that write without a pause, where a load asks for them: the key of their outages."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of a study's timetable."""

    do: FaultAction
    at_s: float | None
    """Seconds after the window's beginning; `None`: at random, in the first half of its share of
    the window."""
    for_s: float
    """How long the member is down or paused before it is started or goes on."""
    member: str = ACTIVE
    """A member's name or role, or `active`."""
    every_s: float = 0.0
    """From one time to the next; 0: its share of the window."""
    times: int = 1
    apply: tuple[str, ...] = ()
    """Of `command`: a program and its arguments."""
    undo: tuple[str, ...] = ()
    """Of `command`: what takes it back; harmless where there is nothing to take back."""
    during: str = ""
    """A statement that the lab sends to the member, just before; empty: none."""
    direction: Direction = "both"
    """Of `partition`: what is lost; `in`: what the member would receive."""
    rate_bit_s: int | None = None
    """Of `slow-network`, each way."""


@dataclass(frozen=True, slots=True)
class DueFault:
    """One occurrence of a fault, with its time in the window."""

    at_s: float
    fault: Fault


@dataclass(frozen=True, slots=True)
class FaultResult:
    """A fault that was made, and what the probes met until the next one."""

    at_ns: int
    """After the window's beginning."""
    do: str
    member: str
    """The member it met; of a single server `server`."""
    back_ns: int
    """When the member was back, after the window's beginning."""
    noticed_ms: float | None = None
    """From the fault to the first probe that failed; `None`: none did."""
    outage_ms: dict[str, float] = field(default_factory=dict)
    """Probe → its longest time between two successes that are next to each other. No less than the
    time between two probes."""
    met_statement: bool | None = None
    """Whether `Fault.during` still ran when the fault began; `None`: there is none."""
    promoted: str = ""
    """The member that took its place, if one did."""
    promoted_ms: float | None = None
    """From the fault until that one took writes, by the lab's own clock."""
    lost_commits: int = 0
    """Acknowledged commits of probes and ledger that are not there at the end."""
    oldest_lost_ms: float = 0.0
    """How long before the last acknowledgement before it the first of those was acknowledged."""


def timetable(faults: Sequence[Fault], window_s: float, seed: int) -> tuple[DueFault, ...]:
    """Every repetition of every fault, in order; random times follow from the seed."""
    random = Random(f"faults {seed}")
    due: list[DueFault] = []
    for fault in faults:
        share_s = fault.every_s or window_s / fault.times
        for number in range(fault.times):
            first_s = random.uniform(0, share_s / 2) if fault.at_s is None else fault.at_s
            due.append(DueFault(first_s + number * share_s, fault))
    return tuple(sorted(due, key=lambda time: time.at_s))


def at_rank(lengths: Sequence[float], rank: float) -> float:
    """The smallest of some lengths that at least this share of them (`rank`, 0 to 1) doesn't
    exceed."""
    place = max(1, math.ceil(rank * len(lengths)))
    return sorted(lengths)[place - 1]
