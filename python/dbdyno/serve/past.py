"""The history of a study: what it answered each time that it was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.serve.home import Row
from dbdyno.serve.inside import Inside
from dbdyno.serve.stored import Effect, stored_answer


@dataclass(frozen=True, slots=True)
class Time:
    """One time that it was measured."""

    row: Row
    effect: Effect | None
    """The effect that is followed; `None`: not measured that time."""


@dataclass(frozen=True, slots=True)
class Past:
    """All times, the newest first."""

    times: tuple[Time, ...]
    followed: Effect | None
    """The largest effect of the newest answer that has any."""


def past(inside: Inside, rows: Sequence[Row]) -> Past:
    """The history of the studies in `rows`, which share a name."""
    ordered = sorted(rows, key=lambda row: (row.changed_unix_s, row.study), reverse=True)
    effects = {row.study: stored_answer(inside, row.study).effects for row in ordered}
    newest = next((effects[row.study] for row in ordered if effects[row.study]), ())
    followed = max(newest, key=lambda effect: abs(math.log(effect.ends[1])), default=None)
    times = []
    for row in ordered:
        same = (effect for effect in effects[row.study] if _is_same(effect, followed))
        times.append(Time(row, next(same, None)))
    return Past(tuple(times), followed)


def _is_same(effect: Effect, followed: Effect | None) -> bool:
    return followed is not None and (
        (effect.cell, effect.clients, effect.baseline)
        == (followed.cell, followed.clients, followed.baseline)
    )
