"""Splits a run spec into parts for several engine processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.errors import UsageError

Spec = Mapping[str, Any]


def split(spec: Spec, count: int) -> tuple[Spec, ...]:
    """The parts of a run for `count` processes: clients are dealt out in turn, events divided.
    Each part says how many clients the whole run has.

    Raises `UsageError` if the run can't be divided that finely.
    """
    clients = sum(group["clients"] for group in spec["groups"])
    events = spec.get("events")
    for name, number in (("clients", clients), ("events", events)):
        if number is not None and number < count:
            raise UsageError(f"{number} {name} can't be divided among {count} processes")
    for group in spec["groups"]:
        if is_open(group) and group["clients"] < count:
            raise UsageError(
                f"group `{group['name']}` has a rate and {group['clients']} clients: too few for "
                f"{count} engine processes, each of which starts its share of the events",
                hint=f"give it {count} clients or more; its rate stays the same",
            )
    return tuple(
        {
            **spec,
            "groups": list(_groups(spec["groups"], index, count)),
            "events": None if events is None else _share(events, index, count),
            "part": {"index": index, "count": count, "clients": clients},
            "wait_for_begin": True,
        }
        for index in range(count)
    )


def parts_of(spec: Spec, count: int) -> tuple[Spec, ...]:
    """As `split`; a single process gets the spec as it is."""
    return (spec,) if count == 1 else split(spec, count)


def is_open(group: Mapping[str, Any]) -> bool:
    """Whether the group's events have intended starts."""
    return bool(group.get("arrival", {"kind": "closed"})["kind"] != "closed")


def _groups(
    groups: Sequence[Mapping[str, Any]], index: int, count: int
) -> Iterator[Mapping[str, Any]]:
    """The groups of one process. Open ones first: a group's index seeds its arrivals, and all
    processes must draw the same."""
    before = 0
    for group in sorted(groups, key=is_open, reverse=True):
        behind = before + group["clients"]
        mine = _share(behind, index, count) - _share(before, index, count)
        before = behind
        if mine:
            yield {**group, "clients": mine}


def _share(whole: int, index: int, count: int) -> int:
    """How many of the numbers below `whole` process `index` gets when dealt out in turn."""
    return (whole + count - 1 - index) // count
