"""results.json: everything README.md is made of, and the order in which it was measured.

A run of some rows replaces those and keeps the others; each row names the run it comes from, with
that run's facts of the machine.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.conduct import Measured, Measurement
from bench.judge import judge
from bench.row import Cell
from bench.rows import ALL_ROWS
from dbdyno.errors import StoreError

_SCHEMA = 1
_NAME = "results.json"


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
        runs = {one["started"]: Run(**one) for one in document["runs"]}
        known = {row.name: row for row in ALL_ROWS}
        rows = [
            (runs[one["run"]], Measured(known[one["name"]], _measurements(one), one["server"]))
            for one in document["rows"]
            if one["name"] in known
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} can't be understood: {error}", hint="remove it, or measure into another folder"
        ) from error
    return Results(rows)


def _measurements(row: Mapping[str, Any]) -> Sequence[Measurement]:
    return [
        Measurement(**{**one, "row": row["name"], "cell": Cell(**one["cell"])})
        for one in row["measurements"]
    ]


def write_results(folder: Path, results: Results) -> None:
    """Writes the file; runs of which no row is left are dropped."""
    runs = {run.started: asdict(run) for run, _ in results.rows}
    document = {
        "schema": _SCHEMA,
        "runs": list(runs.values()),
        "rows": [
            {
                "name": measured.row.name,
                "run": run.started,
                "server": measured.server,
                "measurements": [_document(one) for one in measured.measurements],
                "budgets": [_finite(asdict(one)) for one in judge(measured)],
            }
            for run, measured in results.rows
        ],
    }
    (folder / _NAME).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")


def _document(measurement: Measurement) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(measurement).items() if name != "row"}


def _finite(judged: dict[str, Any]) -> Mapping[str, Any]:
    """JSON has no infinity: a bound that is none is left out."""
    if judged["budget"]["at_most"] == float("inf"):
        del judged["budget"]["at_most"]
    return judged
