"""results.json: what README.md prints, and the order in which it was measured.

A run of some rows replaces those and keeps the others; each row names the run it comes from, with
that run's facts of the machine. Nothing is kept that the page doesn't print: each cell's figures
stand in one line, block by block.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.compact import Wanted, document_text, part_of, rounded
from bench.conduct import Measured, Measurement
from bench.row import Cell
from bench.rows import ALL_ROWS
from dbdyno.errors import StoreError

_SCHEMA = 2
_NAME = "results.json"
_HOST: Wanted = {
    "processor": {"model": True, "threads": True},
    "memory": {"total_bytes": True},
    "kernel": {"distribution": True, "release": True},
}
_OPTIONS = ("repeats", "window_s", "table_rows", "load_rows", "seed")
_RUN: Wanted = {
    "started": True,
    "options": dict.fromkeys(_OPTIONS, True),
    "facts": {
        "host": _HOST,
        "environment": True,
        "red_flags": {"message": True},
        "versions": True,
    },
}
"""What the page prints of a run, and of a server."""
_SERVER: Wanted = {
    "kind": True,
    "version": True,
    "durability": True,
    "settings_changed": {"*": {"value": True}},
}


@dataclass(frozen=True, slots=True)
class Run:
    """One call of `make bench`."""

    started: str
    """UTC, ISO 8601; it also names the run."""
    options: Mapping[str, Any]
    facts: Mapping[str, Any]
    """`host`, `environment`, `red_flags`, `versions`."""


@dataclass(frozen=True, slots=True)
class Results:
    """The latest measurements of each row."""

    rows: Sequence[tuple[Run, Measured]]
    """In the order of `ALL_ROWS`."""

    def with_run(self, run: Run, measured: Sequence[Measured]) -> "Results":
        """The same with some rows measured anew."""
        latest = {row.row.name: (by, row) for by, row in self.rows}
        latest |= {row.row.name: (run, row) for row in measured if row.measurements}
        return Results([latest[row.name] for row in ALL_ROWS if row.name in latest])


def read_results(folder: Path) -> Results:
    """What was measured before; nothing when there is no file. Rows no longer known are dropped.

    # Errors
    `StoreError` when the file is there and can't be understood.
    """
    path = folder / _NAME
    if not path.exists():
        return Results([])
    try:
        document = json.loads(path.read_text())
        if document["schema"] != _SCHEMA:
            raise ValueError(f"schema {document['schema']}, expected {_SCHEMA}")
        runs = {run["started"]: Run(**run) for run in document["runs"]}
        known = {row.name: row for row in ALL_ROWS}
        rows = [
            (runs[row["run"]], Measured(known[row["name"]], list(_measured(row)), row["server"]))
            for row in document["rows"]
            if row["name"] in known
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} can't be understood: {error}", hint="remove it, or measure into another folder"
        ) from error
    return Results(rows)


def _measured(row: Mapping[str, Any]) -> Iterator[Measurement]:
    for cell in row["cells"]:
        named = Cell(cell["contender"], cell["clients"], cell.get("script", ""))
        for block, position, *values in cell["blocks"]:
            figures = zip(row["figures"], values, strict=True)
            known = {name: value for name, value in figures if value is not None}
            yield Measurement(row["name"], named, block, position, known)


def write_results(folder: Path, results: Results) -> None:
    """Writes the file; runs of which no row is left are dropped."""
    runs = {run.started: run for run, _ in results.rows}
    document = {
        "schema": _SCHEMA,
        "runs": [part_of(asdict(run), _RUN) for run in runs.values()],
        "rows": [_row(run, measured) for run, measured in results.rows],
    }
    (folder / _NAME).write_text(document_text(document, ("runs", "rows", "cells")))


def _row(run: Run, measured: Measured) -> Mapping[str, Any]:
    metrics = measured.row.metrics
    cells: dict[Cell, list[list[float | None]]] = {}
    for found in measured.measurements:
        values = (_value(found, metric) for metric in metrics)
        cells.setdefault(found.cell, []).append([found.block, found.position, *values])
    return {
        "name": measured.row.name,
        "run": run.started,
        "server": part_of(measured.server, _SERVER),
        "figures": metrics,
        "cells": [
            {**{name: value for name, value in asdict(cell).items() if value != ""}, "blocks": them}
            for cell, them in cells.items()
        ],
    }


def _value(found: Measurement, metric: str) -> float | None:
    return rounded(found.figures[metric]) if metric in found.figures else None
