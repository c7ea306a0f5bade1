"""Keys of a study's load and connection that a generator carries out: how, or why it can't.

A load that is told must be the one that was driven. So each key that a study states is passed on to
the program in force, or refused; none is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from dbdyno.formats.quantities import format_duration
from dbdyno.model import Closed, ErrorPolicy, Load, Poisson

Carried = Mapping[str, str]
"""Key of `[load]` → the words by which the program gets it."""


class NotCarriedOutError(ValueError):
    """A key that a generator can't carry out as it stands."""

    def __init__(self, key: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.message = message
        self.hint = hint


_NEUTRAL: Mapping[str, Callable[[Load], bool]] = {
    "arrival": lambda load: isinstance(load.arrival, Closed),
    "think_time": lambda load: load.think_time_s == 0,
    "reconnect_every": lambda load: load.reconnect_every == 0,
    "group": lambda load: not load.groups,
    # What is expected to fail is judged, whoever drives the load.
    "errors": lambda load: replace(load.errors, expected={}) == ErrorPolicy(),
    "interval": lambda load: load.interval_s == 1,
    "verify": lambda load: load.verify == "none",
    "warm_up": lambda load: load.warm_up_s == 0,
}
"""Keys that ask for nothing where they have this value: every program does that anyway."""

OF_THE_ENGINE = frozenset(
    ("interval", "reactor", "scheduling", "bind", "shards", "loaders", "verify", "processes")
)
"""How the engine drives its clients and loads tables: no part of the load that is told."""


def is_neutral(key: str, load: Load) -> bool:
    """Whether the key, as the study has it, asks for nothing."""
    return key in _NEUTRAL and _NEUTRAL[key](load)


def whole_seconds(program: str, load: Load) -> None:
    """Raises `NotCarriedOutError` for a program that knows whole seconds only."""
    for key, length_s in (("measure", load.measure_s), ("warm_up", load.warm_up_s)):
        if length_s is not None and length_s != round(length_s):
            message = (
                f"`{key}` is {format_duration(length_s)}; `{program}` knows whole seconds only"
            )
            raise NotCarriedOutError(key, message, f'such as {key} = "{max(1, round(length_s))} s"')


def only_poisson(program: str, load: Load | None) -> float | None:
    """The rate of a program that has random arrivals only; `None`: a closed loop."""
    if load is None:
        return None
    if isinstance(load.arrival, Poisson):
        return load.arrival.rate_per_s
    if isinstance(load.arrival, Closed):
        return None
    kind = load.arrival.kind
    message = f"`arrival`: `{program}` begins events at random (Poisson) times, not by `{kind}`"
    raise NotCarriedOutError(
        "arrival", message, 'such as arrival = { kind = "poisson", rate = 50 }'
    )


def needs_window(program: str, load: Load) -> None:
    """Raises `NotCarriedOutError` where a program that ends by time alone is given no time."""
    if load.measure_s is None:
        message = f"`events`: `{program}` ends by time: the load needs `measure`"
        raise NotCarriedOutError("events", message, 'such as measure = "10 s"')


def rate_word(rate: float) -> str:
    """As programs read it: `50`, `0.5`."""
    return str(int(rate)) if rate == int(rate) else repr(rate)


def unreached(rate: float | None, window_s: float, events: int) -> tuple[str, ...]:
    """A warning where fewer events ended than were to begin, by more than chance (4 standard
    deviations of a Poisson count) and 2 %."""
    intended = (rate or 0.0) * window_s
    if events >= min(0.98 * intended, intended - 4 * math.sqrt(intended)):
        return ()
    return (f"{rate:g} events/s were asked for and {events / window_s:.4g} events/s ended",)
