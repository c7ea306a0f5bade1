"""The load of a run by the engine: its tables, its calls, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from dbdyno.conduct.bottleneck import client_warnings
from dbdyno.conduct.connection import run_target, targets_of_groups
from dbdyno.conduct.disturbed import Disturbed
from dbdyno.conduct.ending import raise_failure, step_result
from dbdyno.conduct.events import LoadWarned, Recorded
from dbdyno.conduct.load_hosts import boot_id, require_no_start_of_its_own
from dbdyno.conduct.preflight import require
from dbdyno.conduct.run.load import LoadAccount
from dbdyno.conduct.run.served import Served
from dbdyno.conduct.shares import limits_of_clients
from dbdyno.conduct.tables import CellTables, handling_of
from dbdyno.engine import HOST_METRICS, Outcome, run_engine, run_spec
from dbdyno.engine.process import Call, Listener
from dbdyno.errors import EngineError
from dbdyno.model import (
    EngineWarning,
    Hello,
    Interval,
    Option,
    Progress,
    RateSearch,
    Record,
    Sample,
    Step,
)
from dbdyno.store import step_summary, with_search

_MOST_PREPARERS = 8
"""Clients that fill tables."""
_PREPARE = "prepare"


@dataclass(slots=True)
class EngineLoad:
    """Turns and searches (`turns.py`, `search.py`) call the engine by the same methods as a step of
    one window does."""

    served: Served
    tables: CellTables = field(init=False)
    _target: Mapping[str, object] = field(init=False)
    """Where the clients of the steps connect, as a run spec has it."""
    _fill_target: Mapping[str, object] = field(init=False)
    """Of every other command."""
    _entries: Mapping[str, Mapping[str, object]] = field(init=False)
    """Targets of groups that connect elsewhere."""
    _names: list[str] = field(default_factory=list)
    """Names of its calls, in order."""
    _warnings: list[EngineWarning] = field(default_factory=list)
    _hello: Hello | None = None
    """Of the engine started last."""
    _pids: Sequence[int] = ()
    _samples: list[Sample] = field(default_factory=list)
    """What load hosts measured, over time."""
    _disturbed: Disturbed | None = None
    """Faults and probes of the step that runs."""

    def __post_init__(self) -> None:
        server, identity = self.served.server, self.served.identity
        cell, setting = identity.cell, identity.setting
        self._target, self._fill_target = run_target(server, cell), server.entry.fill_target()
        self._entries = targets_of_groups(server, cell, identity.load)
        handling = setting.tables.get(identity.planned.id) or handling_of(cell)
        self.tables = CellTables(
            cell, identity.load, handling, server, self._call_for_tables, self._warn
        )

    def check_fit(self) -> None:
        """The largest step decides."""
        identity = self.served.identity
        cell, steps, specs = identity.cell, identity.planned.steps, []
        if self.tables.handling.prepare != "no":
            made = cell.preparing
            specs.append(self._spec(_PREPARE, made.script, made.options, self._preparers()))
        if steps:
            specs.append(self.spec(max(steps, key=lambda step: step.clients)))
        processes = identity.setting.study.load.processes
        engine, launch = identity.setting.engine, self.served.host.client
        hosts = identity.setting.hosts
        if hosts is not None:
            require_no_start_of_its_own(launch)
            hosts.require_reachable(self._target, boot_id())
            processes = len(hosts.names) * (processes or 1)
        require(
            engine,
            specs,
            self.served.server,
            processes,
            launch,
            preparing=min(len(hosts.names), _MOST_PREPARERS) if hosts and self._hosts_fill() else 1,
            elsewhere=hosts is not None,
        )

    def make_tables(self) -> None:
        """Prepares tables and reads them again; the null driver keeps none."""
        with self.served.measured.phase("prepare"):
            loaded = self.tables.make()
        if self._target["driver"] != "null" and self.tables.needs_verifying(loaded):
            with self.served.measured.phase("verify"):
                self.tables.verify(loaded, lambda rows: self._observe("verify", None, rows))

    def drop_tables(self) -> None:
        """Removes our tables from a server that isn't ours."""
        if self.tables.handling.cleanup:
            with self.served.measured.phase("cleanup"):
                self.tables.drop()

    def client_pids(self) -> Sequence[int]:
        """Processes of the engine called last."""
        return self._pids

    def account(self) -> LoadAccount:
        """Tables, and the calls so far; their specs are in the run's folder."""
        return LoadAccount(
            luajit="" if self._hello is None else self._hello.luajit_version,
            tables=tuple(self.tables.loads),
            warnings=tuple(self._warnings),
            command_lines=tuple(f"dbdyno-engine run spec-{name}.json" for name in self._names),
            samples=tuple(self._samples),
            metrics=HOST_METRICS if self._samples else {},
        )

    def start_unix_ns(self) -> int:
        """Wall clock at time 0 of the engine started last, which has greeted."""
        assert self._hello is not None, "the engine greets before its first turn"
        return self._hello.start_unix_ns

    def step(self, step: Step) -> None:
        """One call of the engine. Raises `LabError`."""
        self.served.begin_counting()
        spec = self.spec(step)
        with self.served.lab_counted(), self._disturbed_by_faults(step):
            outcome = self.call(f"step-{step.index}", spec, step=step)
        self.conclude(step, outcome)
        self.served.end_counting(step)

    def _disturbed_by_faults(self, step: Step) -> AbstractContextManager[object]:
        identity = self.served.identity
        load = identity.load
        self._disturbed = None
        if not load.faults:
            return nullcontext()
        writer, server = identity.writer, self.served.server
        self._disturbed = Disturbed(
            server, self._target, step, load, writer.logs, writer.journal.fault
        )
        return self._disturbed

    def conclude(self, step: Step, outcome: Outcome, *, search: RateSearch | None = None) -> None:
        """Stores the engine's records of a step, and its search; raises if it was cut short."""
        warnings, summary = [*outcome.warnings], None
        if outcome.summary is not None:
            summary = step_summary(
                step.index,
                outcome.summary,
                outcome.summary_line,
                backlog=outcome.backlog,
                clients=self.served.identity.load.all_clients(step.clients),
                size_bytes=self.served.sizes(),
            )
            summary = summary if search is None else with_search(summary, search)
            limit_cpus = limits_of_clients(self.served.identity.cell.host).cpus
            warnings += client_warnings(outcome, summary, limit_cpus)
            if self._disturbed is not None:
                summary = self._disturbed.completed(summary)
                warnings += self._disturbed.warnings()
        self.served.measured.add(step_result(step, outcome, warnings), summary)
        self._samples += outcome.samples
        raise_failure(outcome, self.served.server)
        if outcome.summary is None:
            raise EngineError(f"the engine ended step {step.index} without a summary")
        if self._disturbed is not None:
            self._disturbed.raise_if_none_was_made()

    def spec(self, step: Step) -> Mapping[str, object]:
        """The run spec of a step."""
        cell = self.served.identity.cell
        return self._spec("run", cell.script, cell.options, step.clients, step)

    def call(
        self,
        name: str,
        spec: Mapping[str, object],
        *,
        step: Step | None,
        apart: list[Record] | None = None,
    ) -> Outcome:
        """Calls the engine, storing its records and spec under `name`; for `apart`, see
        `listener`."""
        identity = self.served.identity
        self.keep_spec(name, spec)
        by_hosts = step is not None or (spec["command"] == _PREPARE and self._hosts_fill())
        return run_engine(
            identity.setting.engine,
            spec,
            listener=self.listener(step, command=str(spec["command"]), apart=apart),
            log=identity.writer.logs / "engine.log",
            processes=identity.setting.study.load.processes if step else None,
            keep=identity.writer.logs / name,
            launch=self.served.host.client,
            hosts=identity.setting.hosts if by_hosts else None,
        )

    def keep_spec(self, name: str, spec: Mapping[str, object]) -> None:
        """Stores the spec, so that the call can be repeated by hand."""
        self.served.identity.writer.document(f"spec-{name}.json", _without_password(spec))
        self._names.append(name)

    def listener(
        self, step: Step | None, *, command: str = "run", apart: list[Record] | None = None
    ) -> Listener:
        """Stores each of the engine's records and forwards it to observers. With `apart`, records
        for the step's series go there."""
        writer, server = self.served.identity.writer, self.served.server
        series = step.index if step is not None and apart is None else None

        def listen(line: bytes, record: Record, call: Call) -> None:
            writer.record(series, line, record)
            if apart is not None and isinstance(record, (Hello, Interval)):
                apart.append(record)
            if isinstance(record, Hello):
                self._hello, self._pids = record, call.pids
                if self._disturbed is not None:
                    self._disturbed.begin(record.start_unix_ns)
            watched = isinstance(record, (Interval, Progress)) and self._disturbed is None
            if watched and not server.alive():
                call.stop()
            self._observe(command, step, record)

        return listen

    def _call_for_tables(
        self, name: str, command: str, script: str, options: Mapping[str, Option]
    ) -> Outcome:
        spec = self._spec(command, script, options, self._preparers())
        return self.call(name, spec, step=None)

    def _spec(
        self,
        command: str,
        script: str,
        options: Mapping[str, Option],
        clients: int,
        step: Step | None = None,
    ) -> Mapping[str, object]:
        identity = self.served.identity
        setting = identity.setting
        return run_spec(
            command=command,
            target=self._fill_target if step is None else self._target,
            script=setting.scripts[script],
            script_path=setting.script_path,
            options=options,
            clients=clients,
            seed=identity.planned.data_seed if step is None else step.seed,
            loaders=setting.study.load.loaders if step is None else None,
            load=None if step is None else identity.load,
            scripts=setting.scripts,
            entries=self._entries,
        )

    def _preparers(self) -> int:
        """Number of clients for a command other than `run`. On load hosts it is the same whatever
        machines they are, and however many: a script may draw rows by its clients' numbers."""
        if self._fill_target["driver"] in ("sqlite", "duckdb"):
            return 1
        return _MOST_PREPARERS if self._hosts_fill() else min(_MOST_PREPARERS, os.cpu_count() or 1)

    def _hosts_fill(self) -> bool:
        """Whether load hosts fill the tables: they reach the clients' address, and another maybe
        only this machine."""
        of_clients, own = (t.get("endpoints") for t in (self._target, self._fill_target))
        return self.served.identity.setting.hosts is not None and bool(own) and own == of_clients

    def _observe(self, command: str, step: Step | None, record: Record) -> None:
        identity = self.served.identity
        identity.setting.observe(Recorded(identity.planned, command, step, record))

    def _warn(self, warning: EngineWarning) -> None:
        self._warnings.append(warning)
        identity = self.served.identity
        identity.setting.observe(LoadWarned(identity.planned, warning))


def _without_password(spec: Mapping[str, object]) -> Mapping[str, object]:
    target, groups = spec["target"], spec["groups"]
    assert isinstance(target, dict)
    assert isinstance(groups, list)
    shown = [
        {**group, "target": _shown(group["target"])} if "target" in group else group
        for group in groups
    ]
    return {**spec, "target": _shown(target), "groups": shown}


def _shown(target: Mapping[str, object]) -> Mapping[str, object]:
    return {key: value for key, value in target.items() if key != "password"}
