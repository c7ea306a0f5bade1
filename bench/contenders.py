"""The programs compared. Each function measures one cell once and returns figures by name.

How CPU per statement is found: ours and the raw loops say what they took between the window's
start and its end (`getrusage` of themselves). sysbench and pgbench do not, so each measurement runs
them twice, once with a single statement a client: whole-process CPU of the long run minus that of
the short one, over the difference of their statements.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.child import Child, run_child
from bench.earlier import schema_of
from bench.options import ROOT, Options
from bench.place import (
    KEYS,
    SYSBENCH,
    SYSBENCH_SCRIPTS,
    Place,
    call_engine,
    engine_spec,
    pgbench_program,
)
from dbdyno.engine import plan_engine
from dbdyno.errors import EngineError, MachineError
from dbdyno.formats.records import parse_record
from dbdyno.model import Summary

Figures = Mapping[str, float]
Contender = Callable[[Place, int, Options], Figures]
"""Gets the place, the number of clients and the options."""

ACCOUNT_SELECT = ROOT / "workloads" / "account_select.lua"
POINT_SELECT = SYSBENCH_SCRIPTS / "oltp_point_select.lua"
EMPTY_EVENT = ROOT / "bench" / "workloads" / "empty_event.lua"
RANDOM_EVENT = ROOT / "bench" / "workloads" / "random_event.lua"
BULK_INSERT = SYSBENCH_SCRIPTS / "bulk_insert.lua"
SELECT_ONLY = ROOT / "bench" / "workloads" / "point_select_only.lua"
_SELECT_BY_PGBENCH = ROOT / "bench" / "workloads" / "point_select.sql"
_WARM_UP_S = 1.0
_LONG_WARM_UP_S = 10.0
_CONNECT_LIMIT_S = 60.0
AS_BATCH = ("chrt", "--batch", "0")
"""Starts a program under the scheduling policy that ours chooses for itself."""
SELECTS = {
    "pg_floor": "SELECT c FROM sbtest1 WHERE id = $1",
    "mysql_floor": "SELECT c FROM sbtest1 WHERE id = ?",
}
"""The statement of the field's point select, as each raw loop's protocol writes it."""
SELECT_ACCOUNT = "SELECT abalance FROM pgbench_accounts WHERE aid = $1"
_STATEMENTS = r"queries:\s+(\d+)"


def _script_options(script: Path, options: Options) -> dict[str, int]:
    if script == ACCOUNT_SELECT:
        return {"accounts": options.table_rows}
    if script == KEYS:
        return {"keys": options.table_rows, "reads": 100}
    if script in (EMPTY_EVENT, RANDOM_EVENT, BULK_INSERT, SELECT_ONLY):
        return {}
    return {"tables": 1, "table_size": options.table_rows}


def engine(
    script: Path,
    *,
    fresh: bool = False,
    shards: int | None = None,
    more: Mapping[str, int] | None = None,
) -> Contender:
    """Ours, as a user's run has it: event loop and, if not given, shards by its own choice.

    `more`: options of the script. `fresh`: the script may change its tables. They are made anew,
    and clients may meet in a row and begin their event again.
    """

    def measure(place: Place, clients: int, options: Options) -> Figures:
        if fresh:
            _make_anew(place, script, clients, options)
        child, summary = _run_engine(place, script, clients, options, shards=shards, more=more)
        if summary.errors and not fresh:
            raise EngineError(
                f"the engine's run of {script.name} met errors", hint=child.output[-500:]
            )
        measured = summary.measured
        return {
            **per_statement(
                measured.events if script == BULK_INSERT else measured.statements,
                summary.window_s,
                summary.cpu.user_us / 1e6,
                summary.cpu.system_us / 1e6,
            ),
            "memory_peak_kb": float(child.memory_peak_kb),
        }

    return measure


def earlier_engine(script: Path) -> Contender:
    """Ours as it was at an earlier revision, called in the same way."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        assert place.earlier is not None, "the place has an earlier engine"
        names = _script_options(script, options)
        spec = engine_spec(place, script, clients, names, **_window(options))
        then = {**spec, "schema": schema_of(place.earlier)}
        child = run_child([place.earlier, "run", "-"], stdin=json.dumps(then))
        last = json.loads(child.output.splitlines()[-1])
        if last["errors"]:
            raise EngineError(f"the earlier engine's run of {script.name} met errors")
        counted, cpu = last["measured"], last["cpu"]
        window_s = (last["end_ns"] - last["start_ns"]) / 1e9
        return {
            **per_statement(
                counted["reads"] + counted["writes"] + counted["other"],
                window_s,
                cpu["user_us"] / 1e6,
                cpu["system_us"] / 1e6,
            ),
            "memory_peak_kb": float(child.memory_peak_kb),
        }

    return measure


def engine_events(script: Path) -> Contender:
    """Ours on one shard and the null driver."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        _, summary = _run_engine(place, script, clients, options, shards=1)
        return {"events_per_s": summary.measured.events / summary.window_s}

    return measure


def _run_engine(
    place: Place,
    script: Path,
    clients: int,
    options: Options,
    *,
    shards: int | None = None,
    more: Mapping[str, int] | None = None,
) -> tuple[Child, Summary]:
    names = {**_script_options(script, options), **(more or {})}
    spec = engine_spec(place, script, clients, names, shards=shards, **_window(options))
    child = call_engine(place, spec)
    lines = child.output.splitlines()
    summary = parse_record(lines[-1], number=len(lines))
    if not isinstance(summary, Summary):
        raise EngineError(f"the engine's run of {script.name} has no summary")
    return child, summary


def _window(options: Options) -> dict[str, Any]:
    return {
        "warm_up_s": min(_WARM_UP_S, options.window_s),
        "measure_s": options.window_s,
        "seed": options.seed,
        "connect_timeout_s": _CONNECT_LIMIT_S,
    }


def command(script: Path) -> Contender:
    """`dbdyno bench` as a user types it: as many engine processes as it thinks fit."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        names = _script_options(script, options)
        child = run_child(
            [
                sys.executable,
                "-m",
                "dbdyno",
                "bench",
                place.url,
                f"--script={script}",
                *(f"--option={name}={value}" for name, value in names.items()),
                f"--clients={clients}",
                "--statements=text",
                f"--warm-up={_LONG_WARM_UP_S:g}s",
                f"--time={options.window_s:g}s",
                f"--seed={options.seed}",
                "--discard",
                "--json",
            ]
        )
        document = json.loads(child.output)
        return {
            "connections": float(document["clients"]),
            "errors": float(document["errors"] + document["reconnects"]),
            "statements_per_s": document["statements_per_s"],
            "cpu_us": document["client_cpu_us_per_statement"],
            "memory_in_all_kb": float(document["client_rss_peak_kb"] + child.memory_peak_kb),
            "elapsed_s": child.elapsed_s,
        }

    return measure


def _make_anew(place: Place, script: Path, clients: int, options: Options) -> None:
    names = _script_options(script, options)
    for verb in ("cleanup", "prepare"):
        spec = engine_spec(place, script, clients, names, command=verb, seed=options.seed)
        call_engine(place, spec)


def among_many(contender: Contender) -> Contender:
    """The same where all of the field's scripts are measured: less of each."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        window_s, table_rows = options.script_window_s, options.script_rows
        return contender(place, clients, replace(options, window_s=window_s, table_rows=table_rows))

    return measure


def engine_load(place: Place, _clients: int, options: Options) -> Figures:
    """Ours loading one table."""
    names = {"tables": 1, "table_size": options.load_rows}
    clients = os.cpu_count() or 1
    call_engine(place, engine_spec(place, POINT_SELECT, clients, names, command="cleanup"))
    spec = engine_spec(place, POINT_SELECT, clients, names, command="prepare", seed=1)
    prepared = call_engine(place, spec)
    return _loaded(place, prepared, options)


def sysbench(script: Path, *, fresh: bool = False, by: Sequence[str] = ()) -> Contender:
    """Debian's sysbench; for `fresh` see `engine`. `by`: the program that starts it."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        call = (*by, *SYSBENCH)
        short, long = (
            _run_sysbench(call, place, script, clients, options, limit=limit, fresh=fresh)
            for limit in (f"--events={clients}", f"--time={options.window_s:g}")
        )
        if not fresh and _found(r"ignored errors:\s+(\d+)", long):
            raise MachineError("sysbench met errors", hint=long.output[-1000:])
        counted = r"total number of events:\s+(\d+)" if script == BULK_INSERT else _STATEMENTS
        statements = _found(counted, long) - _found(counted, short)
        return {
            **per_statement(
                statements,
                _found(r"total time:\s+([\d.]+)s", long),
                long.user_s - short.user_s,
                long.system_s - short.system_s,
            ),
            "memory_peak_kb": float(long.memory_peak_kb),
        }

    return measure


def sysbench_events(script: Path) -> Contender:
    """sysbench with one thread and no database."""

    def measure(_place: Place, _clients: int, options: Options) -> Figures:
        child = run_child([*SYSBENCH, "--threads=1", f"--time={options.window_s:g}", script, "run"])
        events = _found(r"total number of events:\s+(\d+)", child)
        return {"events_per_s": events / _found(r"total time:\s+([\d.]+)s", child)}

    return measure


def sysbench_load(place: Place, _clients: int, options: Options) -> Figures:
    """sysbench loading one table: one thread a table is what it can do."""
    call = [*SYSBENCH, *place.sysbench_arguments(), f"--table-size={options.load_rows}"]
    run_child([*call, POINT_SELECT, "cleanup"])
    return _loaded(place, run_child([*call, POINT_SELECT, "prepare"]), options)


def _run_sysbench(
    call: Sequence[str],
    place: Place,
    script: Path,
    clients: int,
    options: Options,
    *,
    limit: str,
    fresh: bool,
) -> Child:
    if fresh:
        _make_anew(place, script, clients, options)
    names = _script_options(script, options)
    return run_child(
        [
            *call,
            *place.sysbench_arguments(),
            *(f"--{name}={value}" for name, value in names.items()),
            f"--threads={clients}",
            *(["--time=0"] if limit.startswith("--events") else ["--events=0"]),
            limit,
            script,
            "run",
        ]
    )


def pgbench(place: Place, clients: int, options: Options) -> Figures:
    """pgbench's own select, prepared, with one thread."""
    return _pgbench(["-S", "-j", "1"], place, clients, options)


def pgbench_on_all_cores(place: Place, clients: int, options: Options) -> Figures:
    """The field's own point select by pgbench, prepared, with a thread a core."""
    jobs = str(min(clients, len(os.sched_getaffinity(0))))
    rows = f"rows={options.table_rows}"
    return _pgbench(["-f", _SELECT_BY_PGBENCH, "-D", rows, "-j", jobs], place, clients, options)


def _pgbench(how: Sequence[str | Path], place: Place, clients: int, options: Options) -> Figures:
    short = _run_pgbench(how, place, clients, "-t1")
    # Its time begins before it has connected, one client after the other.
    long_s = max(1, round(options.window_s)) + clients // 100
    long = _run_pgbench(how, place, clients, f"-T{long_s}")
    processed = r"actually processed: (\d+)"
    statements = _found(processed, long) - _found(processed, short)
    rate_per_s = _found(r"tps = ([\d.]+) \(without initial", long)
    return per_statement(
        statements,
        statements / rate_per_s,
        long.user_s - short.user_s,
        long.system_s - short.system_s,
    ) | {"memory_peak_kb": float(long.memory_peak_kb)}


def _run_pgbench(how: Sequence[str | Path], place: Place, clients: int, limit: str) -> Child:
    host, port = place.libpq
    account = ["-h", host, "-p", port, "-U", place.user]
    what = [*how, "-n", "-M", "prepared", "-c", str(clients), limit]
    return run_child([pgbench_program(), *account, *what, place.database])


def floor(program: str, loop: str, statement: str, *, as_ours: bool = False) -> Contender:
    """A raw socket loop of `bench/floor`, scheduled as ours is: it shows what ours adds.

    On one thread, or `as_ours`: on as many as ours has shards, bound if they are.
    """

    def measure(place: Place, clients: int, options: Options) -> Figures:
        threads = ["1"]
        if as_ours:
            plan = plan_engine(place.engine, engine_spec(place, POINT_SELECT, clients, {}))
            threads = [str(plan.shards), *(["bound"] if plan.shards_bound else [])]
        return run_floor(
            place,
            clients,
            options,
            program=program,
            user=place.user,
            loop=loop,
            statement=statement,
            threads=threads,
        )

    return measure


def run_floor(
    place: Place,
    clients: int,
    options: Options,
    *,
    program: str,
    user: str,
    loop: str,
    statement: str,
    threads: Sequence[str] = ("1",),
    statements_per_reply: int = 1,
) -> Figures:
    """Runs a program of `bench/floor` once; `user` and `statement` as its protocol takes them."""
    child = run_child(
        [
            *AS_BATCH,
            place.floors / program,
            place.socket,
            user,
            place.database,
            str(clients),
            str(options.window_s),
            loop,
            str(options.table_rows),
            statement,
            *threads,
        ]
    )
    printed = json.loads(child.output)
    return per_statement(
        printed["statements"] * statements_per_reply,
        printed["window_s"],
        printed["user_s"],
        printed["system_s"],
    ) | {"memory_peak_kb": float(child.memory_peak_kb)}


def memory_per_connection(contender: Contender, few: int) -> Contender:
    """The slope of peak memory from `few` clients to so many as the cell has."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        small = contender(place, few, options)["memory_peak_kb"]
        large = contender(place, clients, options)["memory_peak_kb"]
        return {"memory_per_connection_kb": (large - small) / (clients - few)}

    return measure


def per_statement(
    statements: float, window_s: float, user_s: float, system_s: float
) -> dict[str, float]:
    if statements <= 0:
        raise MachineError(
            "not one statement in the window", hint="make it longer: BENCH_SECONDS=10"
        )
    return {
        "cpu_us": (user_s + system_s) * 1e6 / statements,
        "user_us": user_s * 1e6 / statements,
        "system_us": system_s * 1e6 / statements,
        "statements_per_s": statements / window_s,
    }


def _loaded(place: Place, child: Child, options: Options) -> Figures:
    count = place.count("sbtest1")
    if count != options.load_rows:
        raise MachineError(f"{count} rows were loaded; expected {options.load_rows}")
    return {"rows_per_s": count / child.elapsed_s}


def _found(pattern: str, child: Child) -> float:
    found = re.search(pattern, child.output)
    if found is None:
        raise MachineError(
            f"the output has nothing like `{pattern}`", hint=child.output[-1000:] or "it is empty"
        )
    return float(found[1])
