"""Effects between the turns of two cells that were driven in turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.model import TurnResult
from dbdyno.report.analysis.disturbed import disturbed
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.stats import (
    NotComparable,
    PairedEffect,
    Pairs,
    TurnsEffect,
    turns_of_blocks,
)


@dataclass(frozen=True, slots=True)
class Found:
    """The effect of one pair of points, and its data."""

    effect: PairedEffect | NotComparable
    blocks: tuple[int, ...]
    turns: TurnsEffect | None = None
    set_aside: tuple[str, ...] = ()
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Block → why none of its turns is used."""
    name: str = ""
    """Of the two cells that are compared."""


def turns_effect(
    point: Point, baseline: Point, metric: str, blocks: tuple[int, ...]
) -> Found | None:
    """The same from neighbouring turns; `None` unless every block has them.

    Cells of two batches, or of two attempts at one, have turns with the same numbers that lie
    minutes or hours apart: they are no pairs.
    """
    read = TURN_FIGURES.get(metric)
    ours = {figures.block: figures for figures in point.counted}
    theirs = {figures.block: figures for figures in baseline.counted}
    if read is None or not all(ours[block].turns and theirs[block].turns for block in blocks):
        return None
    together = [block for block in blocks if _alternated(ours[block], theirs[block])]
    if not together:
        return None
    dropped = dict.fromkeys(set(blocks) - set(together), "its turns were driven at two times")
    pairs: dict[int, Pairs] = {}
    notes: list[str] = []
    for block in together:
        rounds = sorted(ours[block].turns.keys() & theirs[block].turns.keys())
        spoilt = disturbed(theirs[block], ours[block], rounds)
        kept = [turn for turn in rounds if turn not in spoilt]
        notes += [
            f"block {block}, round {turn + 1}: {spoilt[turn]}" for turn in rounds if turn in spoilt
        ]
        if kept:
            sides = [[side[block].turns[turn] for turn in kept] for side in (theirs, ours)]
            base, candidate = ([read(turn) for turn in side] for side in sides)
            pairs[block] = Pairs(base, candidate, _speeds(sides))
        else:
            dropped[block] = "all its turns were set aside"
    found = turns_of_blocks(list(pairs.values()))
    if isinstance(found, NotComparable):
        return Found(_without_turns(found, pairs, notes), tuple(pairs), None, tuple(notes), dropped)
    return Found(found.effect, tuple(pairs), found, tuple(notes), dropped)


def _without_turns(
    found: NotComparable, pairs: Mapping[int, Pairs], aside: Sequence[str]
) -> NotComparable:
    """With the turns that were set aside, which the reason knows nothing of."""
    if not aside:
        return found
    if not pairs:
        return NotComparable(f"all {len(aside)} pairs of turns were set aside ({aside[0]})")
    return NotComparable(f"{found.reason}; {len(aside)} were set aside ({aside[0]})")


def _alternated(a: BlockFigures, b: BlockFigures) -> bool:
    """Whether the two had their turns alternately: what each did between its first and its last
    overlaps, since rounds come in mirrored pairs."""
    first = max(min(turn.start_unix_ns for turn in block.turns.values()) for block in (a, b))
    last = min(max(turn.drained_unix_ns for turn in block.turns.values()) for block in (a, b))
    return first < last


def events_rate(turn: TurnResult) -> float:
    return turn.events / turn.window_s if turn.window_s else 0.0


def statements_rate(turn: TurnResult) -> float:
    return turn.statements / turn.window_s if turn.window_s else 0.0


TURN_FIGURES = {"throughput": events_rate, "statements_per_s": statements_rate}
"""Figures read turn by turn; others are read over all turns of a block."""


def _speeds(sides: Sequence[Sequence[TurnResult]]) -> tuple[list[float], list[float]] | None:
    """Of the processors during each side's turns, if it was measured in all of them."""
    found = [[turn.speed for turn in side if turn.speed] for side in sides]
    return (found[0], found[1]) if [*map(len, found)] == [*map(len, sides)] else None
