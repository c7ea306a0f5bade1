"""One side of a comparison: a cell of a stored study, and what is not the same on the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model import Study
from dbdyno.report.analysis.points import Point
from dbdyno.report.analysis.time_window import TimeWindow
from dbdyno.report.material.material import RunMaterial

HOST_FACTORS = "host factors"
WINDOW = "window"


@dataclass(frozen=True, slots=True)
class Side:
    """One cell of a stored study."""

    name: str
    home: Path
    """The folder of its study."""
    study: Study
    points: tuple[Point, ...]
    runs: tuple[RunMaterial, ...]
    levels: Mapping[str, str]
    window: TimeWindow | None = None
    """The part of each step's window that is compared; `None`: all of it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same on both sides."""

    group: str
    what: str
    a: str
    b: str
