"""Intervals of the load among the events of a study."""

from __future__ import annotations

from typing import TypeGuard

from dbdyno.conduct import Event, Recorded
from dbdyno.model import Interval


def is_interval(event: Event) -> TypeGuard[Recorded]:
    """Whether another interval of a step was measured."""
    return isinstance(event, Recorded) and isinstance(event.record, Interval)
