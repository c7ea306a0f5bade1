"""Server and load generator go before everything else that runs on this machine.

Other work makes both wait, now one and now the other, for whole slices of the scheduler's: on a
shared machine that is most of the noise. Nice values lessen it, but count only within a session
where the kernel groups processes by session (`sched_autogroup_enabled`; sched(7)).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.guard.undo import read_switch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Facts, Scene, table, without_root, without_switch

_GROUPING = Path("/proc/sys/kernel/sched_autogroup_enabled")
_NICE = -20
"""The most: a weight of 88,761 against the 1,024 of an ordinary process."""


@dataclass(frozen=True, slots=True)
class Precedence:
    """What is asked for."""

    needed: bool
    """Without it the cell can't run; else it runs as the machine is, which its facts tell."""


class Precedences:
    """`true`, or a table of `needed`."""

    name: ClassVar[str] = "precedence"

    def read(self, value: object) -> Precedence:
        """Checks the value."""
        needed = True if value is True else table(value, "needed")["needed"]
        if not isinstance(needed, bool):
            raise ValueError(f"expected `needed` to be true or false; found {needed!r}")
        return Precedence(needed)

    def missing(self, value: Precedence) -> tuple[Missing, ...]:
        """Missing root, or a switch that can't be written."""
        return _lacking() if value.needed else ()

    def apply(self, _: Precedence, guarded: Guarded, __: Scene) -> Applied:
        """Ends the grouping by sessions; nice ends with the processes. Nothing where the machine
        does not allow it."""
        before = _state(os.getpriority(os.PRIO_PROCESS, 0))
        if _lacking():
            return Applied(before=before, after=before)
        if _GROUPING.exists():
            guarded.write(_GROUPING, "0")
        first = Launch(nice=_NICE)
        return Applied(before, _state(_NICE), server=first, client=first, witness=_nices)


def _lacking() -> tuple[Missing, ...]:
    grouping = without_switch(_GROUPING) if _GROUPING.exists() else ()
    return without_root("give precedence by nice") or grouping


def _state(nice: int) -> Mapping[str, object]:
    grouped = _GROUPING.exists() and read_switch(_GROUPING) != "0"
    return {"nice": nice, "grouped_by_session": grouped}


def _nices(pids: Sequence[int]) -> Facts:
    found = set()
    for pid in pids:
        try:
            found.add(os.getpriority(os.PRIO_PROCESS, pid))
        except ProcessLookupError:
            continue
    return {"nice": sorted(found)}


SETTER = Precedences()
