"""What ours is compared with on a server of columns: the server's own programs."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import place as places
from bench.child import Child, run_child
from bench.contenders import Contender, Figures, per_statement
from bench.options import Options
from bench.place import READ_ONLY, Place, call_engine, engine_spec
from dbdyno.engine import Engine
from dbdyno.errors import MachineError

QUERYING = "clickhouse-benchmark"
LOADING = "clickhouse-client"
RANGE_ROWS = 100
_DIFFERENT = 10_000
"""Statements that the server's own benchmark repeats in turn."""
_NATIVE = "sbtest1.native"


def _account(place: Place) -> Sequence[str]:
    address = place.target["endpoints"][0]["tcp"]
    return [
        f"--host={address['host']}",
        f"--port={address['port']}",
        f"--user={place.user}",
        f"--password={place.target['password']}",
        f"--database={place.database}",
    ]


def ask(place: Place, statement: str) -> str:
    """What the server answers, as lines with tabs."""
    return run_child([LOADING, *_account(place), f"--query={statement}"]).output


@contextmanager
def with_table(engine: Engine, options: Options) -> Iterator[Place]:
    """A server with sysbench's table in one part, read once."""
    with places.clickhouse(engine, options) as place:
        _load_table(place, options.table_rows)
        ask(place, "OPTIMIZE TABLE sbtest1 FINAL")
        ask(place, "SELECT count() FROM sbtest1 WHERE NOT ignore(*)")
        yield place


@contextmanager
def with_rows_as_file(engine: Engine, options: Options) -> Iterator[Place]:
    """A server with sysbench's table, and its rows in a file of the format Native."""
    with places.clickhouse(engine, options) as place:
        _load_table(place, options.load_rows)
        rows = place.floors / _NATIVE
        ask(place, f"SELECT * FROM sbtest1 INTO OUTFILE '{rows}' FORMAT Native")
        yield place


def _load_table(place: Place, rows: int, **options: int) -> Child:
    names = {"tables": 1, "table_size": rows, **options}
    clients = os.cpu_count() or 1
    spec = engine_spec(place, READ_ONLY, clients, names, command="prepare", seed=1)
    return call_engine(place, spec)


def point(number: int) -> str:
    """The statement of a row."""
    return f"SELECT c FROM sbtest1 WHERE id={number}"


def points_in_range(number: int) -> str:
    """The statement of a hundred rows."""
    return f"SELECT c FROM sbtest1 WHERE id BETWEEN {number} AND {number + RANGE_ROWS - 1}"


def servers_own(statement: Callable[[int], str]) -> Contender:
    """The server's own benchmark on statements of random ids. What a short run costs, connecting
    included, is subtracted."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        drawn = random.Random(options.seed)
        ids = (drawn.randint(1, options.table_rows) for _ in range(_DIFFERENT))
        statements = "".join(f"{statement(number)}\n" for number in ids)
        short, few, _ = _queried(place, clients, statements, f"--iterations={clients}")
        long, many, rate = _queried(place, clients, statements, f"--timelimit={options.window_s:g}")
        return per_statement(
            many - few,
            many / rate,
            long.user_s - short.user_s,
            long.system_s - short.system_s,
        ) | {"memory_peak_kb": float(long.memory_peak_kb)}

    return measure


def _queried(place: Place, clients: int, statements: str, limit: str) -> tuple[Child, float, float]:
    """Runs it; how many statements it has done, and how many a second."""
    with TemporaryDirectory(dir=place.floors) as folder:
        report = Path(folder) / "report.json"
        child = run_child(
            [
                QUERYING,
                *_account(place),
                f"--concurrency={clients}",
                "--delay=0",
                f"--json={report}",
                limit,
            ],
            stdin=statements,
        )
        figures = json.loads(report.read_text())["statistics"]
    return child, float(figures["num_queries"]), float(figures["QPS"])


def counted(contender: Contender, client: str) -> Contender:
    """The same, and what each statement returned as the server counts it; `client`: what the
    program calls itself there."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        figures = contender(place, clients, options)
        ask(place, "SYSTEM FLUSH LOGS")
        line = ask(
            place,
            "SELECT avg(result_rows), avg(result_bytes) FROM system.query_log WHERE type = 2 "
            f"AND client_name = '{client}' AND query LIKE 'SELECT c FROM sbtest1 WHERE id%'",
        )
        rows, size = map(float, line.split())
        return {**figures, "result_rows": rows, "result_bytes": size}

    return measure


def engine_load(place: Place, _clients: int, options: Options) -> Figures:
    """Ours making and loading one table."""
    names = {"tables": 1, "table_size": options.load_rows}
    call_engine(place, engine_spec(place, READ_ONLY, 1, names, command="cleanup"))
    return _loaded(place, _load_table(place, options.load_rows), options)


def rows_made(place: Place, _clients: int, options: Options) -> Figures:
    """Ours making the same rows for nobody: what of a load is the script's."""
    nowhere = replace(place, target={"driver": "null"})
    return _figures(_load_table(nowhere, options.load_rows, auto_inc=0), options)


def client_load(place: Place, _clients: int, options: Options) -> Figures:
    """The server's own client loading the same rows from a file of its format Native."""
    ask(place, "TRUNCATE TABLE sbtest1")
    into = "--query=INSERT INTO sbtest1 FORMAT Native"
    rows: Path = place.floors / _NATIVE
    return _loaded(place, run_child([LOADING, *_account(place), into], stdin=rows), options)


def _loaded(place: Place, child: Child, options: Options) -> Figures:
    count = int(ask(place, "SELECT count() FROM sbtest1"))
    if count != options.load_rows:
        raise MachineError(f"{count} rows were loaded; expected {options.load_rows}")
    return _figures(child, options)


def _figures(child: Child, options: Options) -> Figures:
    rows = options.load_rows
    return {
        "rows_per_s": rows / child.elapsed_s,
        "row_cpu_us": (child.user_s + child.system_s) * 1e6 / rows,
        "memory_peak_kb": float(child.memory_peak_kb),
    }
