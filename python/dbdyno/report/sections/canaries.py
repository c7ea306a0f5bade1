"""The table of canaries: how fast the machine was between turns, and whether load went along."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dbdyno.model import Canary, TurnResult
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, percent

_MB = 1e6
_WORK: Sequence[tuple[str, str, Callable[[Canary], float | None]]] = (
    ("processors", "checksums of 256 KiB", lambda canary: canary.spin),
    ("memory", "MB copied", lambda canary: canary.copy / _MB),
    ("disk", "writes of 4 KiB made durable", lambda canary: canary.fsync),
    ("loopback", "round trips of 64 bytes", lambda canary: canary.round_trip),
)
_LEAST_TURNS = 6
"""For a correlation."""
_ROUNDING = 1e-12
_SAME_DIGITS = 12
"""The last ones depend on the processor's instructions."""

Turns = Sequence[TurnResult]


def canary_tables(analysis: Analysis) -> Iterator[Table]:
    """Only where canaries ran."""
    blocks = [
        [turn for turn in figures.turns.values() if turn.before or turn.after]
        for point in analysis.points
        for figures in point.counted
    ]
    if any(blocks):
        yield canary_table(blocks)


def canary_table(blocks: Sequence[Turns]) -> Table:
    """`blocks`: the turns of one cell in one block each, those with canaries."""
    rows: list[tuple[Value, ...]] = []
    # What ran after a turn is what ran before the next one: a set has it once.
    canaries = {
        canary for turns in blocks for turn in turns for canary in (turn.before, turn.after)
    }
    for name, work, read in _WORK:
        figures = (read(canary) for canary in canaries if canary is not None)
        values = sorted(value for value in figures if value is not None)
        if values:
            median = float(np.median(values))
            row = (name, work, len(values), median, values[0] / median, values[-1] / median)
            rows.append((*row, _correlation(blocks, read)))
    columns = (
        Column("Canary", "canary"),
        Column("Work", "work"),
        Column("Times", "times", count),
        Column("Median, a second", "median_per_s", number),
        Column("Slowest, of the median", "slowest", percent),
        Column("Fastest, of the median", "fastest", percent),
        Column("Correlation with throughput", "correlation", number),
    )
    return Table("canaries", "Canaries: the machine between turns", columns, tuple(rows))


def _correlation(blocks: Sequence[Turns], read: Callable[[Canary], float | None]) -> float | None:
    """Pearson's, of ln(events a second) with ln of what the canaries around a turn did, each
    without the mean of its cell and block. `None` where one doesn't vary or too few are known."""
    paces: list[float] = []
    speeds: list[float] = []
    for turns in blocks:
        found = [(turn.events, turn.window_s, _speed(turn, read)) for turn in turns]
        known = [(events / s, speed) for events, s, speed in found if events and s and speed]
        if known:
            logarithms = np.log(known)
            logarithms -= logarithms.mean(axis=0)
            paces += logarithms[:, 0].tolist()
            speeds += logarithms[:, 1].tolist()
    varies = len(paces) >= _LEAST_TURNS and np.std(paces) > 0 and np.std(speeds) > _ROUNDING
    return round(float(np.corrcoef(paces, speeds)[0, 1]), _SAME_DIGITS) if varies else None


def _speed(turn: TurnResult, read: Callable[[Canary], float | None]) -> float | None:
    """The geometric mean of what is known."""
    values = [read(canary) for canary in (turn.before, turn.after) if canary is not None]
    known = [speed for speed in values if speed]
    return float(np.exp(np.log(known).mean())) if known else None
