"""What a history is made of: places in series, and what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.model import Figure
from dbdyno.report.analysis.side import Difference
from dbdyno.report.analysis.study_points import (
    StudyPoint,
)
from dbdyno.stats import (
    History,
)

NOTHING = History((), ())


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be told."""

    metric: str
    by: str | None = None
    """`version` or `date`; `None`: by date where there are several studies."""
    anchor: str | None = None
    """Levels of the anchor cell; `None`: the study's baseline, if possible."""
    cell: str | None = None
    clients: int | None = None
    last: int | None = None
    smallest_effect: float = 0.02


@dataclass(frozen=True, slots=True)
class Place:
    """One point of a series."""

    entry: StudyPoint
    value: float
    """Geometric mean over the blocks: of the figure, or of its ratio to the anchor's."""
    low: float | None
    high: float | None
    """95 % interval; `None` where there is one block, and for the anchor itself."""
    blocks: int
    besides: tuple[Difference, ...] = ()
    """Differences from the previous point other than the server."""


@dataclass(frozen=True, slots=True)
class Series:
    """One cell at one load, over versions or dates."""

    name: str
    clients: int
    places: tuple[Place, ...]
    anchor: str | None
    """The anchor cell; `None`: values are as measured."""
    raw_because: str | None
    """Why there is no anchor."""
    left_out: Mapping[str, tuple[str, ...]]
    """Why points were left out → their studies."""
    found: History = NOTHING
    not_searched: str | None = None
    """Why changes were not searched for."""


@dataclass(frozen=True, slots=True)
class Histories:
    """All series of a metric."""

    asked: Asked
    by: str
    figure: Figure
    series: tuple[Series, ...]
    level: float
    """Of each series: 5 % by all of them."""
