"""One measurement without a study's file: a server somebody runs, a script, a number of clients.

Nothing is provisioned, stopped or changed: tables come and go only with `prepare` and `cleanup`.
What was measured is kept as a study of one run (`kept.py`), unless nobody wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from dbdyno import __version__
from dbdyno.conduct.address import Addressed, open_address
from dbdyno.conduct.bottleneck import client_warnings
from dbdyno.conduct.kept import Keeper, keeping
from dbdyno.conduct.preflight import require
from dbdyno.conduct.verify import load_warnings, verify_tables
from dbdyno.engine import Engine, Outcome, find_script, plan_engine, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.errors import EngineError, InterruptedRunError, LabError, StatementError
from dbdyno.formats.records import SCHEMA
from dbdyno.guard.scratch import scratch_folder
from dbdyno.model import EngineWarning, LabCost, Load, Option, Record, StepSummary, TableLoad
from dbdyno.store import Store, step_summary

RecordObserver = Callable[[str, Record], None]
"""Gets the command (`prepare`, `run`, `cleanup`) and each of its records."""

Prepare = Literal["no", "new", "replace"]
"""Whether the script loads its tables first, and whether it drops those that are there."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure."""

    url: str
    script: str
    options: Mapping[str, Option]
    clients: int
    load: Load
    seed: int
    prepare: Prepare = "no"
    cleanup: bool = False
    collect: tuple[str, ...] = ()
    """Files with collectors of the user's own; sampled only where the result is kept."""
    command_line: str = "dbdyno bench"
    """As it was typed, without a password."""


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
    shards_bound: bool
    loads: tuple[TableLoad, ...]
    """Tables that were looked at after `prepare`."""
    warnings: tuple[EngineWarning, ...]
    interrupted: bool
    failure: LabError | None
    """What cut the window short, if the server or the script did."""
    lab: LabCost | None = None
    """What the lab took of this machine meanwhile, and its queries of the server."""
    kept: str | None = None
    """The study of one run that holds it in the store."""


def bench(
    bench_plan: BenchPlan, engine: Engine, *, observe: RecordObserver, store: Store | None = None
) -> BenchResult:
    """Measures once, and keeps it in `store`; a window that was cut short is returned and marked.

    Raises `LabError` if nothing was measured; then nothing is kept either.
    """
    with (
        _opened(bench_plan, engine, observe) as caller,
        keeping(bench_plan, caller.script, engine, store, caller.addressed) as keeper,
    ):
        caller.require_room()
        caller.keeper = keeper
        if bench_plan.prepare != "no":
            caller.prepare()
        with keeper.measuring():
            outcome = caller.call("run")
        if bench_plan.cleanup:
            _finished(caller.call("cleanup"))
        result = _result(outcome, caller)
        kept = keeper.keep(outcome, result.summary, result.loads, result.warnings)
        return replace(result, kept=kept, lab=keeper.stopwatch.cost())


def prepare_tables(
    bench_plan: BenchPlan, engine: Engine, *, observe: RecordObserver
) -> tuple[tuple[TableLoad, ...], tuple[EngineWarning, ...]]:
    """Loads the script's tables and measures nothing: what was loaded, and what to know of it."""
    with _opened(bench_plan, engine, observe) as caller:
        caller.prepare()
        return caller.loads, caller.warnings


def cleanup_tables(bench_plan: BenchPlan, engine: Engine, *, observe: RecordObserver) -> None:
    """Lets the script drop its tables and measures nothing."""
    with _opened(bench_plan, engine, observe) as caller:
        _finished(caller.call("cleanup"))


@dataclass(slots=True)
class _Caller:
    """Calls the engine for one plan, command by command."""

    plan: BenchPlan
    engine: Engine
    observe: RecordObserver
    addressed: Addressed
    script: Path
    folders: tuple[Path, ...]
    log: Path
    keeper: Keeper | None = None
    loads: tuple[TableLoad, ...] = ()
    warnings: tuple[EngineWarning, ...] = field(default_factory=tuple)
    _processes: int | None = None

    def spec(self, command: str) -> Mapping[str, object]:
        plan, runs = self.plan, command == "run"
        return run_spec(
            command=command,
            target=self.addressed.target,
            script=self.script,
            script_path=self.folders,
            options=plan.options,
            clients=plan.clients,
            seed=plan.seed,
            loaders=None if runs else plan.load.loaders,
            load=plan.load if runs else None,
        )

    @property
    def processes(self) -> int:
        """Of the engine, while it measures; it is asked once."""
        if self._processes is None:
            asked = self.plan.load.processes
            self._processes = asked or plan_engine(self.engine, self.spec("run")).processes
        return self._processes

    def require_room(self) -> None:
        """Raises `MachineError` if this doesn't fit here."""
        commands = ("run",) if self.plan.prepare == "no" else ("prepare", "run")
        require(self.engine, map(self.spec, commands), self.addressed.server, self.processes)

    def call(self, command: str) -> Outcome:
        def listen(line: bytes, record: Record, call: Call) -> None:
            if self.keeper is not None:
                self.keeper.record(command, line, record, call)
            self.observe(command, record)

        return run_engine(
            self.engine,
            self.spec(command),
            listener=listen,
            log=self.log,
            processes=self.processes if command == "run" else None,
        )

    def prepare(self) -> None:
        """Tables are loaded and looked at; those in their place go first if they are to."""
        if self.plan.prepare == "replace":
            cleaned = self.call("cleanup")
            # Where there are none to drop, a script that doesn't ask first fails: that is fine.
            if not isinstance(cleaned.failure, StatementError):
                _finished(cleaned)
        prepared = self.call("prepare")
        _prepared(prepared)
        keeps_any = self.addressed.target["driver"] != "null"
        found = verify_tables(
            "prepare",
            prepared.loaded if keeps_any else (),
            self.plan.load.verify,
            self.addressed.look,
            observe=lambda progress: self.observe("verify", progress),
        )
        self.loads = tuple(found)
        self.warnings = (*prepared.warnings, *load_warnings(self.loads))


@contextmanager
def _opened(bench_plan: BenchPlan, engine: Engine, observe: RecordObserver) -> Iterator[_Caller]:
    folders = script_path()
    script = find_script(bench_plan.script, folders)
    with (
        scratch_folder("bench") as folder,
        open_address(bench_plan.url, folder) as addressed,
    ):
        log = folder / "engine.log"
        yield _Caller(bench_plan, engine, observe, addressed, script, folders, log)


def _prepared(outcome: Outcome) -> None:
    failure = outcome.failure
    if isinstance(failure, StatementError):
        raise StatementError(
            f"while the tables were prepared, {failure.message}",
            hint="where they are there already, drop and load them anew "
            "(`bench --prepare=replace`, `prepare --replace`), or use those there are",
        ) from failure
    _finished(outcome)


def _finished(outcome: Outcome) -> None:
    if outcome.interrupted:
        raise InterruptedRunError("interrupted before anything was measured")
    if outcome.failure is not None:
        raise outcome.failure


def _result(outcome: Outcome, caller: _Caller) -> BenchResult:
    if outcome.summary is None or outcome.hello is None:
        _finished(outcome)
        raise EngineError("the engine ended without a summary")
    summary = step_summary(
        0,
        outcome.summary,
        outcome.summary_line,
        backlog=outcome.backlog,
        clients=caller.plan.clients,
    )
    warnings = (*caller.warnings, *outcome.warnings, *client_warnings(outcome, summary))
    return BenchResult(
        summary=summary,
        script=caller.script,
        versions={
            "dbdyno": __version__,
            "engine": caller.engine.version,
            "engine_schema": str(SCHEMA),
            "luajit": outcome.hello.luajit_version,
        },
        reactor=outcome.hello.reactor,
        scheduling=outcome.hello.scheduling,
        clock=outcome.hello.clock,
        processes=caller.processes,
        shards=outcome.hello.shards,
        shards_bound=outcome.hello.shards_bound,
        loads=caller.loads,
        warnings=warnings,
        interrupted=outcome.interrupted or outcome.summary.interrupted,
        failure=outcome.failure,
    )
