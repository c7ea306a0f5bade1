"""What a row of the table is: contenders, each at its numbers of clients, and budgets on their
figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.contenders import Contender
from bench.place import Where


@dataclass(frozen=True, slots=True)
class Cell:
    """One contender at one number of clients."""

    contender: str
    clients: int
    script: str = ""
    """Where the row has several."""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.script, self.contender, str(self.clients))))


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds on a figure of one cell, or on its ratio to another cell's."""

    metric: str
    candidate: Cell
    baseline: Cell | None = None
    at_least: float = 0.0
    at_most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: every contender at each of its numbers of clients."""

    name: str
    title: str
    how: str
    """What is done, in a sentence or two."""
    place: Where
    metrics: Sequence[str]
    """Figures shown, the one that counts first."""
    cells: Mapping[Cell, Contender]
    """Who measures each cell, in the order of the table."""
    budgets: Sequence[Budget] = field(default=())
