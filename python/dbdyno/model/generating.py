"""What sets the engine apart from outside programs that put load on, said by what each can do: who
asks needs no names."""

from __future__ import annotations

from dataclasses import dataclass

ENGINE = "engine"
"""The default generator."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """Of a generator; those of an outside program by default."""

    takes_script: bool = False
    """A script in Lua says what it does, and makes its tables."""
    takes_every_key: bool = False
    """It carries out every key of `[load]` and `[connection]`; others say which they do."""
    takes_rates: bool = False
    """It can be driven at one rate after another (`find_max`)."""
    can_pause: bool = False
    """It stays connected while others are driven, so cells can take turns."""
    counts_statements: bool = False
    """What may fail is a statement; of others it is an operation, which is an event."""
    keeps_series: bool = False
    """The store has its intervals; others tell rates second by second, as samples, or nothing."""
    tells_own_cpu: bool = False
    """It tells what it used of its shards' processor time."""


_OUTSIDE = Abilities()
_OF_THE_ENGINE = Abilities(
    takes_script=True,
    takes_every_key=True,
    takes_rates=True,
    can_pause=True,
    counts_statements=True,
    keeps_series=True,
    tells_own_cpu=True,
)


def abilities(generator: str) -> Abilities:
    """Of the generator of that name, be it one of ours or one that an imported text names."""
    return _OF_THE_ENGINE if generator == ENGINE else _OUTSIDE
