"""The load of one cell: the study's, with what the cell's levels change of it.

A cell holds its changes as plain values, which a plan's file and its identity keep as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from dbdyno.model.fault import Fault
from dbdyno.model.load import Arrival, Closed, Group, Load, Replay, Steps
from dbdyno.model.plan import Cell

GROUPS = "groups"
"""The change that names groups: name → their values, beside or in place of the study's."""

ARRIVAL = "arrival"
FAULTS = "faults"

_KINDS: Mapping[str, Any] = {kind.kind: kind for kind in get_args(Arrival)}


def load_of(load: Load, cell: Cell) -> Load:
    """What drives `cell` in a study with this load."""
    if not cell.load:
        return load
    changes: dict[str, Any] = {k: v for k, v in cell.load.items() if k != GROUPS}
    if ARRIVAL in changes:
        changes[ARRIVAL] = _arrival(changes[ARRIVAL])
    if FAULTS in changes:
        changes[FAULTS] = tuple(_fault(values) for values in changes[FAULTS])
    groups = {group.name: group for group in load.groups}
    groups |= {name: _group(name, values) for name, values in groups_of(cell.load).items()}
    return replace(load, **changes, groups=tuple(groups.values()))


def joined(changes: Mapping[str, object], later: Mapping[str, object]) -> Mapping[str, object]:
    """Changes of two levels; the later wins, group by group."""
    groups = {**groups_of(changes), **groups_of(later)}
    return {**changes, **later, **({GROUPS: groups} if groups else {})}


def groups_of(changes: Mapping[str, object]) -> Mapping[str, Mapping[str, Any]]:
    """Name → values of the groups that the changes name."""
    groups = changes.get(GROUPS, {})
    assert isinstance(groups, Mapping)
    return groups


def is_open(changes: Mapping[str, object]) -> bool:
    """Whether the changes include an arrival that is not closed."""
    asked = [changes, *groups_of(changes).values()]
    arrivals = (values.get(ARRIVAL) for values in asked)
    kinds = (arrival["kind"] for arrival in arrivals if isinstance(arrival, Mapping))
    return any(kind != Closed.kind for kind in kinds)


def arrival_values(arrival: Arrival) -> dict[str, object]:
    """An arrival as plain values."""
    values = asdict(arrival)
    if isinstance(arrival, Replay):
        values["file"] = str(arrival.file)
    if isinstance(arrival, Steps):
        values["steps"] = [list(step) for step in arrival.steps]
    return {"kind": arrival.kind, **values}


def group_values(group: Group) -> dict[str, object]:
    """A group as plain values, without its name."""
    values = {**asdict(group), ARRIVAL: arrival_values(group.arrival)}
    del values["name"]
    if not group.entry:
        del values["entry"]  # Cells from before there were entries stay the same.
    return values


def fault_values(fault: Fault) -> dict[str, object]:
    """A fault as plain values."""
    values = asdict(fault)
    return {**values, "apply": list(fault.apply), "undo": list(fault.undo)}


def _fault(values: Mapping[str, Any]) -> Fault:
    words = {name: tuple(values[name]) for name in ("apply", "undo")}
    return Fault(**{**values, **words})


def _arrival(values: Mapping[str, Any]) -> Arrival:
    inner = {name: value for name, value in values.items() if name != "kind"}
    if "file" in inner:
        inner["file"] = Path(inner["file"])
    if "steps" in inner:
        inner["steps"] = tuple((length_s, rate) for length_s, rate in inner["steps"])
    arrival: Arrival = _KINDS[values["kind"]](**inner)
    return arrival


def _group(name: str, values: Mapping[str, Any]) -> Group:
    return Group(name, **{**values, ARRIVAL: _arrival(values[ARRIVAL])})
