"""One run: a cell is set up, loaded, driven through all steps, inspected and taken down.

The conductor knows one cell; `batch.py` coordinates it with the others that are up.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field

from dbdyno import collect
from dbdyno.collect import Sampler, Watched
from dbdyno.conduct.bottleneck import client_warnings
from dbdyno.conduct.connection import run_target
from dbdyno.conduct.ending import cause, raise_failure, step_result
from dbdyno.conduct.events import (
    HostInspected,
    LoadWarned,
    PhaseStarted,
    Recorded,
)
from dbdyno.conduct.host import UNCHANGED, Host
from dbdyno.conduct.manifest import manifest_of
from dbdyno.conduct.preflight import require
from dbdyno.conduct.sampled import Stopwatch, keep_samples
from dbdyno.conduct.setting import Setting
from dbdyno.conduct.tables import CellTables, handling_of
from dbdyno.conduct.tool import drive_tool, tool_metrics, tool_result
from dbdyno.engine import Outcome, run_engine, run_spec
from dbdyno.engine.process import Call, Listener
from dbdyno.errors import EngineError, InterruptedRunError, LabError, ServerError
from dbdyno.formats.passwords import without_passwords
from dbdyno.model import (
    ENGINE,
    EngineWarning,
    Hello,
    Interval,
    Option,
    PhaseSpan,
    PlannedRun,
    Progress,
    RateSearch,
    Record,
    RunManifest,
    Sample,
    Step,
    StepResult,
    StepSummary,
)
from dbdyno.servers import Server, parse_provision
from dbdyno.store import RunWriter, step_summary, with_search

_MOST_PREPARERS = 8


@dataclass(slots=True)
class RunConductor:
    """Carries out one run and records it: `set_up`, the steps, `leave`, and finally, whatever
    happened, `take_down` and `finish`."""

    setting: Setting
    run: PlannedRun
    writer: RunWriter
    attempt: int
    started: float = field(default_factory=time.time)
    phases: list[PhaseSpan] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    summaries: list[StepSummary] = field(default_factory=list)
    counters: list[Mapping[str, object]] = field(default_factory=list)
    server_facts: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """All settings in effect, as reported by the server."""
    size_bytes: dict[str, int] = field(default_factory=dict)
    host: Host = UNCHANGED
    """What the batch has changed on this machine."""
    host_change: Mapping[str, object] = field(default_factory=dict)
    """The same as facts, once the load is over."""
    host_facts: Mapping[str, object] = field(default_factory=dict)
    """Facts about this machine, including its storage."""
    red_flags: Sequence[collect.RedFlag] = ()
    luajit: str = ""
    load_warnings: list[EngineWarning] = field(default_factory=list)
    specs: list[str] = field(default_factory=list)
    """Names of the engine's calls."""
    batch: tuple[str, ...] = ()
    """Ids of the runs that are up at the same time."""
    failure: LabError | None = None
    """Why the run failed or ended early."""
    sampler: Sampler | None = None
    """Metrics of this run alone."""
    tools: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """Generator → the program used."""
    tool_samples: list[Sample] = field(default_factory=list)
    collected: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    engine_start_unix_ns: int | None = None
    """Wall clock at time 0 of the engine started last."""
    _before: Mapping[str, int] = field(default_factory=dict)
    _size_before: int = 0
    _server: Server | None = None
    _tables: CellTables | None = None
    _target: Mapping[str, object] = field(default_factory=dict)
    """Where the clients of the steps connect, as a run spec has it."""
    _load_target: Mapping[str, object] = field(default_factory=dict)
    """Of every other command."""
    _pids: Sequence[int] = ()
    _parts: ExitStack = field(default_factory=ExitStack)
    """Undone by `take_down`, the last first."""
    _sampling: ExitStack = field(default_factory=ExitStack)
    """Closed before the server stops."""

    @property
    def server(self) -> Server:
        """The run's server, after `set_up`."""
        assert self._server is not None, "set_up() opens it"
        return self._server

    @property
    def is_set_up(self) -> bool:
        """Whether `set_up` succeeded and the server still runs."""
        return self.sampler is not None and self.server.alive()

    def set_up(self) -> None:
        """Does everything up to the first step. Raises `LabError`."""
        cell = self.run.cell
        setting = self.setting
        opened = setting.open_server(cell, setting.script_path, self.writer.logs, self.host.server)
        server = self._server = self._parts.enter_context(opened)
        with self._phase("provision"):
            server.start()
            self.host_facts = collect.host_facts(server.data_folder())
            flags = collect.red_flags(self.host_facts, server.facts(), asked=cell.host)
            self.red_flags = tuple(flags)
            self.setting.observe(HostInspected(self.run, self.red_flags))
            if cell.generator == ENGINE:
                self._target, self._load_target = run_target(server, cell), server.load_target()
                self._tables = self._tables_of(server)
                self._check_fit(self._tables)
        if self._tables is not None:
            self._make_tables(self._tables)
        self.size_bytes["prepared"] = server.size_bytes()
        self._parts.enter_context(self._sampling)
        self.sampler = self._sampling.enter_context(
            Sampler(self.setting.collectors("run"), self._watched())
        )

    @contextmanager
    def sampled_edges(self, shared: Sampler) -> Iterator[None]:
        """Samples this run and the host before and after a step or turn: counters are differences
        between two samples. Until its next one this run is sampled rarely."""
        assert self.sampler is not None, "sampled from the end of set_up"
        self.sampler.edge()
        shared.edge()
        yield
        self.sampler.edge(idle=True)
        shared.edge()

    def step(self, step: Step) -> None:
        """Runs one step as one window. Raises `LabError`; what was measured is kept."""
        self.host.before_step()
        with self.phase(step):
            self.begin_counting()
            if self.run.cell.generator == ENGINE:
                spec = self.spec(step)
                with self.lab_counted():
                    outcome = self.call_engine(f"step-{step.index}", spec, step=step)
                self.conclude(step, outcome)
            else:
                self._tool_step(step)
            self.end_counting(step)

    def _tool_step(self, step: Step) -> None:
        """Runs a step by an outside program, which starts, reports and ends by itself."""
        load = self.setting.study.load
        name = f"step-{step.index}"

        def watch(pid: int) -> None:
            self._pids = (pid,)

        try:
            with self.lab_counted():
                told = drive_tool(
                    self.run.cell,
                    step,
                    load,
                    server=self.server,
                    scratch=self.writer.logs / name,
                    folders=self.setting.script_path,
                    launch=self.host.client,
                    watch=watch,
                )
        except InterruptedRunError:
            raise
        except LabError as error:
            raise cause(error, self.server) from error
        self.server.check()
        self.tools[self.run.cell.generator] = told.tool
        self.tool_samples += told.outcome.samples
        kept, window_s = told.distribution(), told.outcome.window_s
        self.summaries.append(told.summary(step, kept))
        self.steps.append(tool_result(step, told))
        if kept is not None:
            ended_ns = told.outcome.ended_unix_ns or time.time_ns()
            began_s = ended_ns / 1e9 - window_s
            self.writer.distribution(step.index, kept, start_unix_s=began_s, length_s=window_s)

    def leave(self) -> None:
        """Inspects the server once more and, after a complete run, stops it in order."""
        self._sampling.close()
        self._look()
        if self.failure is None:
            with self._phase("stop"):
                self.server.stop()

    def take_down(self) -> None:
        """Undoes the set-up; a failure in that is the run's failure."""
        try:
            self._parts.close()
        except LabError as error:
            self.failure = self.failure or error

    def finish(self, shared: Sampler) -> RunManifest:
        """Writes the remaining files and gives the run folder its final name; `shared` has sampled
        the host."""
        self._keep_samples(shared)
        self.host_facts = self.host_facts or collect.host_facts()
        facts = {
            "host": self.host_facts,
            "host_change": self.host_change,
            "tools": self.tools,
            "server": self.server_facts,
            "red_flags": [asdict(flag) for flag in self.red_flags],
        }
        self.writer.document("facts.json", facts)
        self.writer.document("settings.json", dict(self.settings))
        manifest = self._manifest()
        self.writer.commit(manifest, tuple(self.summaries))
        return manifest

    def _tables_of(self, server: Server) -> CellTables:
        cell, setting = self.run.cell, self.setting

        def call(name: str, command: str, script: str, options: Mapping[str, Option]) -> Outcome:
            spec = self._spec(command, script, options, _preparers(self._load_target))
            return self.call_engine(name, spec, step=None)

        handling = setting.tables or handling_of(cell)
        return CellTables(cell, setting.study.load, handling, server, call, self._warn_of_load)

    def _check_fit(self, tables: CellTables) -> None:
        """Checks limits before any data is touched; the largest step decides."""
        made, specs = self.run.cell.preparing, []
        if tables.handling.prepare != "no":
            preparers = _preparers(self._load_target)
            specs.append(self._spec("prepare", made.script, made.options, preparers))
        if self.run.steps:
            specs.append(self.spec(max(self.run.steps, key=lambda step: step.clients)))
        processes = self.setting.study.load.processes
        require(self.setting.engine, specs, self.server, processes, self.host.client)

    def _make_tables(self, tables: CellTables) -> None:
        """Prepares tables and reads them again; the null driver keeps none."""
        with self._phase("prepare"):
            loaded = tables.make()
        if self._target["driver"] != "null" and tables.needs_verifying(loaded):
            with self._phase("verify"):
                tables.verify(loaded, lambda rows: self._observe("verify", None, rows))

    def _observe(self, command: str, step: Step | None, record: Record) -> None:
        self.setting.observe(Recorded(self.run, command, step, record))

    def _warn_of_load(self, warning: EngineWarning) -> None:
        self.load_warnings.append(warning)
        self.setting.observe(LoadWarned(self.run, warning))

    def begin_counting(self) -> None:
        """Reads the server's counters and the size of its data before a step."""
        self._before = dict(self.server.counters())
        self._size_before = self.server.size_bytes()

    def end_counting(self, step: Step) -> None:
        """Stores them together with those after the step, if it completed."""
        after = dict(self.server.counters())
        self.counters.append({"step": step.index, "before": self._before, "after": after})

    def conclude(self, step: Step, outcome: Outcome, *, search: RateSearch | None = None) -> None:
        """Stores the engine's records of a step, and its search; raises if it was cut short."""
        warnings = [*outcome.warnings]
        if outcome.summary is not None:
            summary = step_summary(
                step.index,
                outcome.summary,
                outcome.summary_line,
                backlog=outcome.backlog,
                clients=self.setting.study.load.all_clients(step.clients),
                size_bytes=self._sizes(),
            )
            summary = summary if search is None else with_search(summary, search)
            self.summaries.append(summary)
            warnings += client_warnings(outcome, summary)
        self.steps.append(step_result(step, outcome, warnings))
        raise_failure(outcome, self.server)
        if outcome.summary is None:
            raise EngineError(f"the engine ended step {step.index} without a summary")

    def _sizes(self) -> tuple[int, int] | None:
        """Sizes of the data around a step; `None` if the server is no longer there to ask."""
        with suppress(ServerError):
            self.server.check()  # makes a session anew that was lost under load
            return self._size_before, self.server.size_bytes()
        return None

    def spec(self, step: Step) -> Mapping[str, object]:
        """The run spec of a step."""
        cell = self.run.cell
        return self._spec("run", cell.script, cell.options, step.clients, step)

    def _spec(
        self,
        command: str,
        script: str,
        options: Mapping[str, Option],
        clients: int,
        step: Step | None = None,
    ) -> Mapping[str, object]:
        setting = self.setting
        return run_spec(
            command=command,
            target=self._load_target if step is None else self._target,
            script=setting.scripts[script],
            script_path=setting.script_path,
            options=options,
            clients=clients,
            seed=self.run.data_seed if step is None else step.seed,
            loaders=setting.study.load.loaders if step is None else None,
            load=None if step is None else setting.study.load,
            scripts=setting.scripts,
        )

    def call_engine(
        self,
        name: str,
        spec: Mapping[str, object],
        *,
        step: Step | None,
        apart: list[Record] | None = None,
    ) -> Outcome:
        """Calls the engine, storing its records and spec under `name`; for `apart`, see
        `listener`."""
        self.keep_spec(name, spec)
        return run_engine(
            self.setting.engine,
            spec,
            listener=self.listener(step, command=str(spec["command"]), apart=apart),
            log=self.writer.logs / "engine.log",
            processes=self.setting.study.load.processes if step else None,
            keep=self.writer.logs / name,
            launch=self.host.client,
        )

    def keep_spec(self, name: str, spec: Mapping[str, object]) -> None:
        """Stores the spec, so that the call can be repeated by hand."""
        self.writer.document(f"spec-{name}.json", _without_password(spec))
        self.specs.append(name)

    def listener(
        self, step: Step | None, *, command: str = "run", apart: list[Record] | None = None
    ) -> Listener:
        """Stores each of the engine's records and forwards it to observers. With `apart`, records
        for the step's series go there."""

        series = step.index if step is not None and apart is None else None

        def listen(line: bytes, record: Record, call: Call) -> None:
            self.writer.record(series, line, record)
            if apart is not None and isinstance(record, (Hello, Interval)):
                apart.append(record)
            if isinstance(record, Hello):
                self.luajit = record.luajit_version
                self.engine_start_unix_ns = record.start_unix_ns
                self._pids = call.pids
            if isinstance(record, (Interval, Progress)) and not self.server.alive():
                call.stop()
            self._observe(command, step, record)

        return listen

    def _watched(self) -> Watched:
        server = self.server
        return Watched(
            kind=parse_provision(self.run.cell.provision).kind,
            data_folder=server.data_folder(),
            server_pids=server.processes,
            client_pids=lambda: self._pids,
            proxy_pids=server.proxies,
            ask=server.ask,
        )

    def _look(self) -> None:
        """Inspects the server once more; removes our tables from a server that isn't ours."""
        with self._phase("collect"):
            self.host_change = self.host.facts(self.server.processes())
            self.server_facts = self.server.facts()
            self.settings = self.server.settings()
            self.size_bytes["end"] = self.server.size_bytes()
        if self._tables is not None and self._tables.handling.cleanup:
            with self._phase("cleanup"):
                self._tables.drop()

    def _keep_samples(self, shared: Sampler) -> None:
        samplers = [shared, *([self.sampler] if self.sampler else [])]
        told = tool_metrics(self.run.cell.generator)
        self.collected = keep_samples(
            self.writer, samplers, self.setting.own, self.tool_samples, told
        )

    def phase(self, step: Step) -> AbstractContextManager[None]:
        """The phase of a step."""
        return self._phase(f"step {step.index}")

    def lab_counted(
        self, helper_cpu_s: Callable[[], float] = float
    ) -> AbstractContextManager[None]:
        """Counts what the lab takes in the block, in which the load is on; see `Stopwatch`."""
        assert self.sampler is not None, "sampled from the end of set_up"
        return self.stopwatch.counted((self.sampler,), helper_cpu_s)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.setting.observe(PhaseStarted(self.run, name))
        start = time.time()
        try:
            yield
        finally:
            self.phases.append(PhaseSpan(name, start, time.time()))

    def _manifest(self) -> RunManifest:
        return manifest_of(
            self.setting.plan,
            self.run,
            self.setting.engine,
            luajit=self.luajit,
            host_facts=self.host_facts,
            server_facts=self.server_facts,
            size_bytes=self.size_bytes,
            counters=self.counters,
            started_unix_s=self.started,
            command_lines=(self._command_line(), *self._engine_commands()),
            phases=self.phases,
            steps=self.steps,
            loads=() if self._tables is None else self._tables.loads,
            load_warnings=self.load_warnings,
            failure=self.failure,
            batch=self.batch,
            collected=self.collected,
            lab=self.stopwatch.cost(),
            attempt=self.attempt,
        )

    def _command_line(self) -> str:
        typed = shlex.join(["dbdyno", *map(without_passwords, sys.argv[1:])])
        return self.setting.command_line or typed

    def _engine_commands(self) -> Iterator[str]:
        """Commands that repeat each call by hand: the specs are in the run's folder."""
        for name in self.specs:
            yield f"dbdyno-engine run spec-{name}.json"


def _preparers(target: Mapping[str, object]) -> int:
    """Number of clients for a command other than `run`."""
    return 1 if target["driver"] == "sqlite" else min(_MOST_PREPARERS, os.cpu_count() or 1)


def _without_password(spec: Mapping[str, object]) -> Mapping[str, object]:
    target = spec["target"]
    assert isinstance(target, dict)
    return {**spec, "target": {key: value for key, value in target.items() if key != "password"}}
