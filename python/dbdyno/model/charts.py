"""Which kinds of chart a study can name.

A kind is a module of `report/charts/`, in the folder that says what it draws. They are known here
by their files' names alone: importing one takes the library that draws.
"""

from functools import cache
from pathlib import Path
from typing import Literal

Draws = Literal["of_figure", "of_metrics", "of_load"]
"""One figure that the study names, several sampled metrics, or the kind's own choice."""

USUAL = (
    "throughput-by-clients",
    "latency-percentiles",
    "throughput-over-time",
    "latency-over-time",
    "bytes-per-statement",
)
"""Charts of every report; naming one sets its place and title."""

GROUPED = ("ratio-by-level",)
"""Kinds whose lines can be put together in groups."""

_FOLDER = Path(__file__).parents[1] / "report" / "charts"


@cache
def chart_kinds(draws: Draws) -> tuple[str, ...]:
    """Kinds of charts, by name."""
    names = (file.stem for file in (_FOLDER / draws).glob("*.py") if file.stem != "__init__")
    return tuple(sorted(name.replace("_", "-") for name in names))


def draws_what(kind: str) -> Draws | None:
    """`None` for the usual ones, and for unknown kinds."""
    every: tuple[Draws, ...] = ("of_figure", "of_metrics", "of_load")
    return next((draws for draws in every if kind in chart_kinds(draws)), None)
