"""The measuring: every cell once a block, in an order drawn anew for each block and recorded."""

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.options import Options
from bench.row import Cell, Row
from dbdyno.engine import Engine


@dataclass(frozen=True, slots=True)
class Measurement:
    """One cell, measured once."""

    row: str
    cell: Cell
    block: int
    position: int
    """Its place in the block's order."""
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything of one row."""

    row: Row
    measurements: Sequence[Measurement]
    server: Mapping[str, object]


def measure_row(row: Row, engine: Engine, options: Options) -> Measured:
    """Sets the place up, then measures block after block."""
    cells = [
        cell
        for cell in row.cells
        if cell.clients <= options.most_clients
        and (not cell.script or not options.scripts or cell.script in options.scripts)
    ]
    measurements: list[Measurement] = []
    if not cells:
        return Measured(row, measurements, {})
    _say(f"{row.name}: setting up")
    with row.place(engine, options) as place:
        for block in range(options.repeats):
            order = random.Random(f"{options.seed} {row.name} {block}").sample(cells, len(cells))
            for position, cell in enumerate(order):
                figures = row.cells[cell](place, cell.clients, options)
                measurements.append(Measurement(row.name, cell, block, position, figures))
                shown = f"{row.metrics[0]} {figures[row.metrics[0]]:,.2f}"
                _say(f"{row.name}: block {block + 1} of {options.repeats}: {cell}: {shown}")
        return Measured(row, measurements, place.facts)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
