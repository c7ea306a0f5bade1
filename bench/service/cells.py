"""What is measured: each event loop, under each scheduling, at each load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

_OPEN_CLIENTS = 64


@dataclass(frozen=True, slots=True)
class Cell:
    """One way of putting load on."""

    reactor: str
    """`epoll` or `io-uring`."""
    scheduling: str
    """`batch` or `inherit`."""
    clients: int
    rate_per_s: int = 0
    """Of the open loop; 0: a closed one."""

    def __str__(self) -> str:
        return f"{self.load}, {self.reactor}, {self.scheduling}"

    @property
    def load(self) -> str:
        """Clients, or the rate."""
        if self.rate_per_s:
            return f"{self.rate_per_s:,}/s"
        return f"{self.clients} client{'s' * (self.clients > 1)}"

    def group(self) -> Mapping[str, Any]:
        """What a spec says of the load."""
        if not self.rate_per_s:
            return {"clients": self.clients}
        arrival = {"kind": "poisson", "rate_per_s": self.rate_per_s}
        return {"clients": self.clients, "arrival": arrival}


CELLS: Sequence[Cell] = tuple(
    Cell(reactor, scheduling, *load)
    for load, reactor, scheduling in product(
        ((1, 0), (16, 0), (256, 0), (_OPEN_CLIENTS, 5_000), (_OPEN_CLIENTS, 20_000)),
        ("epoll", "io-uring"),
        ("batch", "inherit"),
    )
)
