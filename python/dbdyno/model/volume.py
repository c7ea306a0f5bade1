"""What the data of a cell come to, and the time that takes: rough figures, to plan by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.model.load import Option

SYSBENCH_ROW_BYTES = 260
"""Of a row of sysbench's tables with its primary and secondary index, before any bloat."""
EVENTS_PER_S = 5_000
"""Events per second of all clients together, assumed where nothing better is known."""


@dataclass(frozen=True, slots=True)
class Volume:
    """The data of one cell."""

    rows: int = 0
    """That a script loads, and the lab then verifies."""
    size_bytes: float = 0.0
    """Of what is loaded, indexes included."""
    event_bytes: float = 0.0
    """By how much an event lets the data grow."""
    event_s: float = 1 / EVENTS_PER_S
    """How long an event takes, over all clients; for steps that end after a number of events."""
    fill_s: float = 0.0
    """To load what are not rows of a script."""
    step_s: float = 0.0
    """What each step takes beside warm-up and window, such as a tool's own loading."""
    client_s: float = 0.0
    """The same for each of the step's clients."""


def whole(options: Mapping[str, Option], name: str, default: int) -> int:
    """An option that is a number, written with `_` or `-`."""
    value = options.get(name, options.get(name.replace("_", "-"), default))
    return value if isinstance(value, int) else default


def sysbench_rows(options: Mapping[str, Option]) -> int:
    """Rows of tables as sysbench's scripts make them."""
    return whole(options, "tables", 1) * whole(options, "table_size", 10_000)
