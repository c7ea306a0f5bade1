"""A condition that must hold for the figures to answer the question, and its result.

Each module of this room with a `GATE` is found by itself: a gate is added by its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures

GateState = Literal["ok", "doubtful", "failed", "not judged"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition and its result."""

    name: str
    state: GateState
    text: str
    brief: str = ""
    """The same in a few words, where they depend on what was measured; for the first screen."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges a condition: no gate, one, or several, where there is something to say."""

    place: int
    """Where it stands on the page: lower ones first."""
    judge: Callable[[Analysis], Gate | Iterable[Gate]]
    needs: str = ""
    """The word in an import's `not_known` without which it can't be judged."""
    keeps_failed: bool = False
    """Whether a failure that was found stays one, whatever is not known."""


def all_blocks(analysis: Analysis) -> list[BlockFigures]:
    """The figures of all points, block by block; those of runs cut short are among them."""
    return [figures for point in analysis.points for figures in point.blocks]


def counted_blocks(analysis: Analysis) -> list[BlockFigures]:
    """The figures of complete runs, from which the answer is made; all where none is complete."""
    found = all_blocks(analysis)
    return [figures for figures in found if figures.counted] or found


def fewest_blocks(analysis: Analysis) -> int:
    """Of the points that have a complete run: the others are named as not measured."""
    return min((len(point.counted) for point in analysis.points if point.counted), default=0)
