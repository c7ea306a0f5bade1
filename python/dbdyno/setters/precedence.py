"""The kernel prefers server and load generator to every other process of this machine.

Other processes make them wait for whole time slices: on a shared machine that is most of the noise.
A low nice value prevents it, but where the kernel groups processes by session
(`sched_autogroup_enabled`; sched(7)), nice values only count within a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.guard.undo import read_switch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import (
    Applied,
    Facts,
    Scene,
    is_needed,
    nice_of,
    of_processes,
    table,
    without_root,
    without_switch,
)

_GROUPING = Path("/proc/sys/kernel/sched_autogroup_enabled")
_NICE = -20
"""The most: a weight of 88,761 against the 1,024 of an ordinary process."""


class Precedence:
    """`true`, or a table of `needed`."""

    name: ClassVar[str] = "precedence"

    def read(self, value: object) -> bool:
        """Whether it is needed."""
        return is_needed({} if value is True else table(value, "needed", instead="`true`"))

    def missing(self, value: bool) -> tuple[Missing, ...]:
        """Missing root, or a switch that can't be written."""
        return _lacking() if value else ()

    def apply(self, _: bool, guarded: Guarded, __: Scene) -> Applied:
        """Switches grouping by session off; nice values end with the processes. Changes nothing
        where the machine does not allow it."""
        before = _state(nice_of(0))
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
    return {"nice": sorted(of_processes(pids, nice_of))}


SETTER = Precedence()
