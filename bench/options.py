"""What the environment of `make bench` may change."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured."""

    rows: Sequence[str] = ()
    """`ROWS`: names of rows with commas between; none: all."""
    window_s: float = 10.0
    """`BENCH_SECONDS`: each measurement's window."""
    repeats: int = 5
    """`BENCH_REPEATS`: blocks; each holds every cell of a row once, in its own random order."""
    table_rows: int = 1_000_000
    """`BENCH_TABLE_ROWS`: rows of the tables read, a multiple of 100,000 (pgbench's unit)."""
    load_rows: int = 1_000_000
    """`BENCH_LOAD_ROWS`: rows of the table loaded."""
    scripts: Sequence[str] = ()
    """`BENCH_SCRIPTS`: which of the field's scripts are measured; none: all eleven."""
    script_window_s: float = 4.0
    """`BENCH_SCRIPT_SECONDS`: the same where all of the field's scripts are measured."""
    script_rows: int = 100_000
    """`BENCH_SCRIPT_ROWS`: rows of their table, made anew for each measurement."""
    report_s: int = 600
    """`BENCH_REPORT_SECONDS`: windows of the made-up runs that are reported."""
    most_clients: int = 100_000
    """`BENCH_MOST_CLIENTS`: cells with more clients are left out."""
    before: str = "6f96003"
    """`BENCH_BEFORE`: the revision whose engine the rows of before and after compare ours with."""
    seed: int = 0
    """`BENCH_SEED`: of the order and of the engine."""
    folder: Path = ROOT / "bench"
    """`BENCH_FOLDER`: where README.md and results.json are written."""


def read_options(environment: Mapping[str, str] = os.environ) -> Options:
    """The options in force.

    # Errors
    `UsageError` names the variable and what it should be.
    """
    plain = Options()
    table_rows = int(number(environment, "BENCH_TABLE_ROWS", plain.table_rows))
    if table_rows % 100_000:
        raise UsageError(f"BENCH_TABLE_ROWS is {table_rows}; expected a multiple of 100000")
    return Options(
        rows=_names(environment, "ROWS"),
        window_s=number(environment, "BENCH_SECONDS", plain.window_s),
        repeats=int(number(environment, "BENCH_REPEATS", plain.repeats)),
        table_rows=table_rows,
        load_rows=int(number(environment, "BENCH_LOAD_ROWS", plain.load_rows)),
        scripts=_names(environment, "BENCH_SCRIPTS"),
        script_window_s=number(environment, "BENCH_SCRIPT_SECONDS", plain.script_window_s),
        script_rows=int(number(environment, "BENCH_SCRIPT_ROWS", plain.script_rows)),
        report_s=int(number(environment, "BENCH_REPORT_SECONDS", plain.report_s)),
        most_clients=int(number(environment, "BENCH_MOST_CLIENTS", plain.most_clients)),
        before=environment.get("BENCH_BEFORE") or plain.before,
        seed=int(number(environment, "BENCH_SEED", time.time_ns() % 2**32)),
        folder=Path(environment.get("BENCH_FOLDER", plain.folder)),
    )


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(environment.get(name, "").replace(",", " ").split())


def number(environment: Mapping[str, str], name: str, otherwise: float) -> float:
    """A variable's number, above 0.

    # Errors
    `UsageError` names the variable and what it should be.
    """
    text = environment.get(name)
    if not text:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0 and name != "BENCH_SEED":
        raise UsageError(f"{name} is `{text}`; expected a number above 0")
    return value
