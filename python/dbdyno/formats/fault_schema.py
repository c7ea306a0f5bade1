"""The schema of a study's `[[fault]]`. docs/reference/study-file.md documents the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from dbdyno.formats.load_schema import Duration, LevelLoadTable, LoadTable, Table
from dbdyno.formats.quantities import parse_bit_rate
from dbdyno.model.cell_load import FAULTS, fault_values
from dbdyno.model.fault import ACTIVE, Direction, Fault, FaultAction, timetable

Complaint = tuple[tuple[str, ...], str, str | None]
"""Path of the key, message, hint."""


class FaultTable(Table):
    """Something that is done to a server while the load is on."""

    do: FaultAction
    at: Literal["random"] | Duration = "random"
    member: str = ACTIVE
    length: Annotated[Duration, Field(alias="for")]
    every: Duration = 0.0
    times: Annotated[int, Field(ge=1, le=1000)] = 1
    apply: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    during: str = ""
    direction: Direction = "both"
    rate: Annotated[int, BeforeValidator(parse_bit_rate)] | None = None

    def fault(self) -> Fault:
        """As the load has it."""
        at_s = None if isinstance(self.at, str) else self.at
        return Fault(
            self.do,
            at_s,
            self.length,
            self.member,
            self.every,
            self.times,
            self.apply,
            self.undo,
            self.during,
            self.direction,
            self.rate,
        )

    def wrong_link(self) -> tuple[str, str] | None:
        """Key and what is wrong with `direction` or `rate`; `None`: nothing."""
        if self.direction != "both" and self.do != "partition":
            return "direction", "`direction` is for `partition`"
        if (self.rate is None) == (self.do == "slow-network"):
            return "do", "`slow-network` takes `rate`, and nothing else does"
        return None

    def wrong_command(self) -> str | None:
        """What is wrong with `apply` and `undo`; `None`: nothing."""
        if self.do != "command":
            return "`apply` and `undo` are for `command`" if self.apply or self.undo else None
        if not (self.apply and self.undo):
            return "`command` needs `apply` and `undo`, each a list of a program and its arguments"
        programs = (self.apply[0], self.undo[0])
        other = next((name for name in programs if "/" in name and not name.startswith("/")), None)
        return other and f"expected a program on the path or an absolute path; found `{other}`"


class FaultyLoadTable(LevelLoadTable):
    """What a level changes of the load, its faults included."""

    fault: list[FaultTable] | None = None
    """In place of the study's; empty: none."""

    def changes(self, folder: Path) -> dict[str, object]:
        """As a level has them, by names of the model."""
        changes = super().changes(folder)
        if self.fault is not None:
            changes[FAULTS] = [fault_values(table.fault()) for table in self.fault]
        return changes


def all_fault_complaints(
    tables: Mapping[tuple[str, ...], Sequence[FaultTable]], load: LoadTable
) -> Iterator[Complaint]:
    """All that is wrong with the faults in this load. `tables`: path of the study's, and of a
    level's, to them."""
    if load.ledger and not any(tables.values()):
        yield ("load", "ledger"), "`ledger` counts what faults lose, and there are none", None
    for place, listed in tables.items():
        for path, message, hint in _complaints(listed, load):
            yield (*place, *path[1:]), message, hint


def _complaints(tables: Sequence[FaultTable], load: LoadTable) -> Iterator[Complaint]:
    """In one timetable; paths begin with `fault`."""
    if not tables:
        return
    if load.measure is None or load.events is not None:
        yield ("fault", "0"), "faults need a window of a known length", 'such as measure = "60 s"'
        return
    if load.find_max is not None:
        yield (
            ("fault", "0"),
            "a search for a rate has no window that faults could be timed in",
            None,
        )
        return
    faults = [table.fault() for table in tables]
    free_s, before = 0.0, "the window's beginning"
    for number, table in enumerate(tables):
        path = ("fault", str(number))
        if table.length <= 0:
            yield (*path, "for"), "`for` must be longer than nothing", 'such as for = "5 s"'
        if wrong := table.wrong_command():
            yield (*path, "do"), wrong, None
        if of_link := table.wrong_link():
            hint = 'such as rate = "1 Mbit/s"' if of_link[0] == "do" else None
            yield (*path, of_link[0]), of_link[1], hint
        if table.times > 1 and not isinstance(table.at, str) and not table.every:
            message = '`times` needs `every`, or `at = "random"`'
            yield (*path, "times"), message, 'such as every = "20 s"'
    for due in timetable(faults, load.measure, 0):
        path = ("fault", str(faults.index(due.fault)))
        if due.fault.at_s is not None and due.at_s < free_s:
            yield path, f"at {due.at_s:g} s a fault is due while {before} lasts", None
        if due.at_s + due.fault.for_s > load.measure:
            message = (
                f"at {due.at_s:g} s plus {due.fault.for_s:g} s a fault outlasts the window of "
                f"{load.measure:g} s"
            )
            yield path, message, "make `measure` longer, or `times` or `every` smaller"
        free_s, before = due.at_s + due.fault.for_s, f"that of {due.at_s:g} s"
