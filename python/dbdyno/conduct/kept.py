"""Stores a `bench` as a study of one cell, one block and one step.

So a bench has facts, settings, intervals and a report, and can be inspected years later. It is
named after its script and the time; it has no study file, so `study.toml` holds the command that
repeats it.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol, get_args

from dbdyno import collect
from dbdyno.collect import OwnCollector, Sampler, Watched
from dbdyno.conduct.address import Addressed, without_password
from dbdyno.conduct.ending import step_result
from dbdyno.conduct.manifest import manifest_of
from dbdyno.conduct.sampled import Stopwatch, keep_samples
from dbdyno.conduct.sampling import chosen_collectors, own_collectors
from dbdyno.design import plan as make_plan
from dbdyno.engine import Engine, Outcome
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.errors import ServerError
from dbdyno.formats.stored_study import ONE_CALL, Declared
from dbdyno.model import (
    Design,
    EngineWarning,
    Factor,
    Hello,
    Level,
    Load,
    Option,
    PhaseSpan,
    Plan,
    Record,
    StepSummary,
    Study,
    TableLoad,
    Workload,
)
from dbdyno.store import RunWriter, Store, StudyFolder, open_study_folder
from dbdyno.store.places import PARTIAL


class Called(Protocol):
    """The parts of a bench's plan that are stored."""

    @property
    def url(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Option]: ...
    @property
    def load(self) -> Load: ...
    @property
    def seed(self) -> int: ...
    @property
    def command_line(self) -> str: ...
    @property
    def collect(self) -> tuple[str, ...]: ...


@dataclass(slots=True)
class Keeper:
    """Stores the records of a bench; does nothing without a folder."""

    addressed: Addressed
    engine: Engine
    plan: Plan | None = None
    folder: StudyFolder | None = None
    writer: RunWriter | None = None
    command_line: str = ""
    started: float = field(default_factory=time.time)
    phases: list[PhaseSpan] = field(default_factory=list)
    counters: dict[str, object] = field(default_factory=dict)
    size_bytes: dict[str, int] = field(default_factory=dict)
    luajit: str = ""
    own: Sequence[OwnCollector] = ()
    """The user's own collectors."""
    samplers: tuple[Sampler, ...] = ()
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _phase_from: float = field(default_factory=time.time)
    _pids: Sequence[int] = ()

    def record(self, command: str, line: bytes, record: Record, call: Call) -> None:
        """Stores one record of a command. Raises `StoreError`."""
        if isinstance(record, Hello):
            self.luajit = record.luajit_version
            self._pids = call.pids
        if self.writer is not None:
            self.writer.record(0 if command == "run" else None, line, record)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Wraps the load: everything before it was preparation. Collects samples if anything is
        stored."""
        self._phase("prepare")
        if self.writer is None:
            with self.stopwatch.counted(()):
                yield
            return
        server = self.addressed.server
        if server is not None:
            self.counters["before"] = dict(server.counters())
            self.size_bytes["prepared"] = server.size_bytes()
        with ExitStack() as stack:
            self.samplers = tuple(stack.enter_context(one) for one in self._samplers())
            with self.stopwatch.counted(self.samplers):
                yield
                for one in self.samplers:
                    one.edge()
        self._phase("step 0")
        if server is not None:
            with suppress(ServerError):  # it may have died: the outcome says so
                self.counters["after"] = dict(server.counters())

    def _samplers(self) -> Iterator[Sampler]:
        server = self.addressed.server
        watched = Watched(
            kind=self.addressed.kind,
            data_folder=self.addressed.folder,
            client_pids=lambda: self._pids,
            ask=server.ask if server is not None else lambda: None,
        )
        for scope in get_args(collect.Scope):
            yield Sampler(chosen_collectors(scope, (), self.own), watched)

    def keep(
        self,
        outcome: Outcome,
        summary: StepSummary,
        loads: tuple[TableLoad, ...],
        warnings: tuple[EngineWarning, ...],
    ) -> str | None:
        """Gives the run its final name; returns the study's name in the store. Raises
        `StoreError`."""
        if self.writer is None or self.folder is None or self.plan is None:
            return None
        collected = keep_samples(self.writer, self.samplers, self.own)
        facts, settings = self._looked_at()
        self.writer.document("facts.json", facts)
        self.writer.document("settings.json", settings)
        (run,) = self.plan.runs
        manifest = manifest_of(
            self.plan,
            run,
            self.engine,
            luajit=self.luajit,
            host_facts=_part(facts, "host"),
            server_facts=_part(facts, "server"),
            size_bytes=self.size_bytes,
            counters=[{"step": 0, **self.counters}],
            started_unix_s=self.started,
            command_lines=(self.command_line,),
            phases=self.phases,
            steps=(step_result(run.steps[0], outcome, warnings),),
            loads=loads,
            failure=outcome.failure,
            interrupted=outcome.interrupted,
            collected=collected,
            lab=self.stopwatch.cost(),
        )
        self.writer.commit(manifest, (summary,))
        return self.folder.stored.name

    def _looked_at(self) -> tuple[dict[str, object], dict[str, object]]:
        host = collect.host_facts(self.addressed.folder)
        server = self.addressed.server
        asked: Mapping[str, object] = {}
        settings: dict[str, object] = {}
        if server is not None:
            with suppress(ServerError):  # it may have died: the outcome says so
                asked = server.facts()
                settings.update(server.settings())
        flags = [asdict(flag) for flag in collect.red_flags(host, asked)]
        return {"host": host, "server": dict(asked), "red_flags": flags}, settings

    def _phase(self, name: str) -> None:
        now = time.time()
        self.phases.append(PhaseSpan(name, self._phase_from, now))
        self._phase_from = now


@contextmanager
def keeping(
    called: Called, script: Path, engine: Engine, store: Store | None, addressed: Addressed
) -> Iterator[Keeper]:
    """A keeper for one bench; without a store it stores nothing.

    If nothing was measured, nothing is stored. Raises `StoreError`, before measuring if the store
    can't be written, and `UsageError` for an invalid collector.
    """
    if store is None:
        yield Keeper(addressed, engine)
        return
    study = _study(called, script)
    own = own_collectors(study, script_path())
    plan = make_plan(study, seed=called.seed)
    # Keep the seed that was asked for; scripts get no derived one here.
    (run,) = plan.runs
    steps = tuple(replace(step, seed=called.seed) for step in run.steps)
    plan = replace(plan, runs=(replace(run, seed=called.seed, steps=steps),))
    with open_study_folder(store, Declared(study, plan), again=True) as folder:
        _sweep(store, but=folder.path)
        try:
            with folder.writer(plan.runs[0], attempt=1) as writer:
                yield Keeper(
                    addressed,
                    engine,
                    plan,
                    folder,
                    writer,
                    command_line=called.command_line,
                    own=own,
                )
        finally:
            folder.remove_partial()
            if not folder.has_runs():
                shutil.rmtree(folder.path, ignore_errors=True)


def _sweep(store: Store, *, but: Path) -> None:
    """Removes leftovers of a killed bench, which has no run and never will. We hold the lock."""
    for folder in store.root.glob(f"{_PREFIX}*"):
        kept = [path for path in folder.glob("runs/*") if not path.name.endswith(PARTIAL)]
        if folder != but and not kept and (folder / "study.json").is_file():
            shutil.rmtree(folder, ignore_errors=True)


_PREFIX = "bench-"


def _study(called: Called, script: Path) -> Study:
    place = without_password(called.url)
    stem = re.sub(r"[^A-Za-z0-9._+-]", "-", script.stem)
    return Study(
        name=f"{_PREFIX}{stem}-{time.strftime('%Y%m%d-%H%M%S')}",
        question=f"What does {script.stem} do on {place}?",
        factors=(Factor("server", (Level(stem, provision=f"url:{place}"),)),),
        workload=Workload(script.stem, dict(called.options)),
        load=called.load,
        design=Design(blocks=1, seed=called.seed),
        collect=called.collect,
        text=f"{ONE_CALL}{called.command_line.removeprefix('dbdyno bench').strip()}\n",
    )


def _part(facts: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = facts[name]
    assert isinstance(found, Mapping)
    return found
