"""Two published figures, or a published ratio, that are compared with what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.report.terms.table import Value


@dataclass(frozen=True, slots=True)
class Pair:
    """A published comparison: a cell against another that differs in some of its levels."""

    cell: Mapping[str, str]
    """All factors' levels."""
    reference: Mapping[str, str]
    metric: str
    clients: int | None
    ratio: float | None
    """`None` where only a direction was told."""
    high: float | None
    """The other end, where a range was told."""
    text: str
    why: str
    direction: str = ""
    """`higher` or `lower`, where no figure was told."""

    @property
    def published(self) -> Value:
        """What was published: a ratio, a range or a direction."""
        if self.ratio is None:
            return self.direction
        return self.ratio if self.high is None else (self.ratio, self.high)
