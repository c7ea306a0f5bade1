"""One measurement without a study: a server somebody runs, a script, a number of clients.

Nothing is provisioned, stopped or changed: tables come and go only with `prepare` and `cleanup`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from dbdyno import __version__
from dbdyno.conduct.bottleneck import client_warnings
from dbdyno.conduct.preflight import loader_count, require
from dbdyno.conduct.verify import Look, load_warnings, verify_tables
from dbdyno.engine import Engine, Outcome, find_script, run_engine, run_spec
from dbdyno.engine.parts import processes_needed
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.errors import (
    EngineError,
    InterruptedRunError,
    LabError,
    ServerError,
    StatementError,
    UsageError,
)
from dbdyno.formats.records import SCHEMA
from dbdyno.model import EngineWarning, Load, Option, Record, StepSummary, TableLoad
from dbdyno.servers import Contents, Server, open_server
from dbdyno.servers.sqlite.contents import contents
from dbdyno.store import step_summary

RecordObserver = Callable[[str, Record], None]
"""Gets the command (`prepare`, `run`, `cleanup`) and each of its records."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure."""

    url: str
    script: str
    options: Mapping[str, Option]
    clients: int
    load: Load
    seed: int
    prepare: bool = False
    cleanup: bool = False


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What was measured."""

    summary: StepSummary
    script: Path
    versions: Mapping[str, str]
    reactor: str
    scheduling: str
    clock: str
    processes: int
    shards: int
    """Of all processes."""
    loads: tuple[TableLoad, ...]
    """Tables that were looked at after `prepare`."""
    warnings: tuple[EngineWarning, ...]
    interrupted: bool
    failure: LabError | None
    """What cut the window short, if the server or the script did."""


def bench(bench_plan: BenchPlan, engine: Engine, *, observe: RecordObserver) -> BenchResult:
    """Measures once; a window that was cut short is returned and marked.

    Raises `LabError` if nothing was measured.
    """
    folders = script_path()
    script = find_script(bench_plan.script, folders)
    with (
        tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as name,
        _target(bench_plan.url, Path(name)) as (target, server, look),
    ):

        def spec_of(command: str) -> Mapping[str, object]:
            return run_spec(
                command=command,
                target=target,
                script=script,
                script_path=folders,
                options=bench_plan.options,
                clients=bench_plan.clients,
                seed=bench_plan.seed,
                loaders=loader_count(bench_plan.load) if command != "run" else None,
                load=bench_plan.load if command == "run" else None,
            )

        def call(command: str) -> Outcome:
            def listen(_line: bytes, record: Record, _call: Call) -> None:
                observe(command, record)

            return run_engine(
                engine,
                spec_of(command),
                listener=listen,
                log=Path(name) / "engine.log",
                processes=processes if command == "run" else None,
            )

        processes = bench_plan.load.processes or processes_needed(spec_of("run"))
        commands = ("prepare", "run") if bench_plan.prepare else ("run",)
        require(map(spec_of, commands), server, processes)
        loads: tuple[TableLoad, ...] = ()
        warnings: tuple[EngineWarning, ...] = ()
        if bench_plan.prepare:
            prepared = call("prepare")
            _prepared(prepared)
            loads = tuple(
                verify_tables(
                    "prepare",
                    prepared.loaded,
                    bench_plan.load.verify,
                    look,
                    observe=lambda progress: observe("verify", progress),
                )
            )
            warnings = (*prepared.warnings, *load_warnings(loads))
        outcome = call("run")
        if bench_plan.cleanup:
            _finished(call("cleanup"))
    result = _result(outcome, script, engine, processes)
    return replace(result, loads=loads, warnings=(*warnings, *result.warnings))


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{place}"))


def _prepared(outcome: Outcome) -> None:
    failure = outcome.failure
    if isinstance(failure, StatementError):
        raise StatementError(
            f"while the tables were prepared, {failure.message}",
            hint="where they are there already, leave out --prepare; a run with --cleanup drops "
            "them in the end",
        ) from failure
    _finished(outcome)


def _finished(outcome: Outcome) -> None:
    if outcome.interrupted:
        raise InterruptedRunError("interrupted before anything was measured")
    if outcome.failure is not None:
        raise outcome.failure


def _result(outcome: Outcome, script: Path, engine: Engine, processes: int) -> BenchResult:
    if outcome.summary is None or outcome.hello is None:
        _finished(outcome)
        raise EngineError("the engine ended without a summary")
    summary = step_summary(0, outcome.summary, outcome.summary_line, backlog=outcome.backlog)
    return BenchResult(
        summary=summary,
        script=script,
        versions={
            "dbdyno": __version__,
            "engine": engine.version,
            "engine_schema": str(SCHEMA),
            "luajit": outcome.hello.luajit_version,
        },
        reactor=outcome.hello.reactor,
        scheduling=outcome.hello.scheduling,
        clock=outcome.hello.clock,
        processes=processes,
        shards=outcome.hello.shards,
        loads=(),
        warnings=(*outcome.warnings, *client_warnings(outcome, summary)),
        interrupted=outcome.interrupted or outcome.summary.interrupted,
        failure=outcome.failure,
    )


@contextmanager
def _target(url: str, folder: Path) -> Iterator[tuple[Mapping[str, object], Server | None, Look]]:
    """The spec's `target` for a URL, the server behind it if there is one, and how it is asked for
    a table's contents."""
    match urlsplit(url).scheme:
        case "null":
            yield {"driver": "null"}, None, _nothing
        case "sqlite":
            target = _sqlite(url)
            yield target, None, partial(contents, Path(str(target["path"])))
        case "":
            raise UsageError(f"`{url}` is not a URL", hint=_EXAMPLES)
        case _:
            with open_server(f"url:{url}", {}, folder) as server:
                server.start()
                yield server.target(), server, server.contents


def _nothing(table: str, *, checksum: bool) -> Contents:
    raise ServerError(f"`null` keeps no table `{table}`")


def _sqlite(url: str) -> Mapping[str, object]:
    """`sqlite:///absolute/path`, `sqlite:relative/path`; a query gives pragmas."""
    parts = urlsplit(url)
    if parts.netloc or not parts.path.strip("/"):
        raise UsageError(f"`{url}` names no file", hint=_EXAMPLES)
    return {
        "driver": "sqlite",
        "path": str(Path(unquote(parts.path)).absolute()),
        "pragmas": [list(pair) for pair in parse_qsl(parts.query)],
    }


_EXAMPLES = "such as postgresql://user@host/db, mysql://user@host/db, sqlite:///path/to.db or null:"
