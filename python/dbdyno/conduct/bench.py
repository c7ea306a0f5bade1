"""Measurements without a study's file: servers somebody runs, a script, a number of clients.

Nothing is provisioned, stopped or changed: tables come and go only with `prepare` and `cleanup`.
A bench is carried out and kept as a study of one run, or of several blocks and sides (`kept.py`),
unless nobody wants to keep it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno.conduct.address import check_url
from dbdyno.conduct.batch import conduct_batch
from dbdyno.conduct.bench_sides import BenchSide, sides_of
from dbdyno.conduct.events import Event, Observer, PhaseStarted, RunEnded, StudyStarted
from dbdyno.conduct.host import Host
from dbdyno.conduct.kept import OneRun, one_run_folder, plan_of, script_name, study_of
from dbdyno.conduct.sampling import own_collectors
from dbdyno.conduct.setting import Setting
from dbdyno.conduct.tables import Handling, Prepare
from dbdyno.conduct.volume import scripts_named
from dbdyno.design.batches import batches
from dbdyno.engine import Engine, find_script
from dbdyno.engine.script import script_path
from dbdyno.errors import EngineError, InterruptedRunError, LabError, StatementError, UsageError
from dbdyno.guard.scratch import scratch_folder
from dbdyno.model import (
    Cell,
    EngineWarning,
    LabCost,
    Load,
    Option,
    Plan,
    StepSummary,
    TableFill,
)
from dbdyno.model.study import BY_URL
from dbdyno.servers import Server, open_server
from dbdyno.store import Store


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure."""

    url: str
    script: str
    options: Mapping[str, Option]
    load: Load
    seed: int
    """Of the tables, and of what clients draw."""
    repeat: int = 1
    """Blocks, from 1."""
    against: str | None = None
    """The URL of the baseline, driven in turns with `url`."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the clients' sessions at `url`; the baseline has none of them, and is the same database
    unless `against` names another."""
    prepare: Prepare = "no"
    cleanup: bool = False
    collect: tuple[str, ...] = ()
    """Files with collectors of the user's own; sampled only where the result is kept."""
    command_line: str = "dbdyno bench"
    """As it was typed, without a password."""


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What was measured in one run."""

    side: str
    """The name of its side."""
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
    loads: tuple[TableFill, ...]
    """Tables that were looked at after `prepare`."""
    warnings: tuple[EngineWarning, ...]
    failure: LabError | None
    """What cut the window short, or failed after it."""
    lab: LabCost | None = None
    """What the lab took of this machine meanwhile, and its queries of the server."""
    kept: str | None = None
    """The study of one run that holds it in the store."""

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return isinstance(self.failure, InterruptedRunError)


def bench(
    bench_plan: BenchPlan, engine: Engine, *, observe: Observer, store: Store | None = None
) -> tuple[BenchResult, ...]:
    """Measures each side in each block and keeps it in `store`, in the order of the plan; a window
    that was cut short is returned and marked, and is the last one.

    Raises `LabError` if nothing was measured; then nothing is kept either.
    """
    handling = Handling(bench_plan.prepare, bench_plan.cleanup)
    with _conducted(bench_plan, engine, observe, handling, store, measured=True) as call:
        ended = call.ended()
        if not any(run.summaries for run in ended):
            raise call.failure() or EngineError("the engine ended without a summary")
        call.place.forgotten = False
        kept = call.place.folder.stored.name if store is not None else None
        results = [_result(run, call.script, kept) for run in ended if run.summaries]
        if results[-1].failure is None:
            results[-1] = replace(results[-1], failure=call.first_failure)
        return tuple(results)


def prepare_tables(
    bench_plan: BenchPlan, engine: Engine, *, observe: Observer
) -> tuple[tuple[TableFill, ...], tuple[EngineWarning, ...]]:
    """Loads the script's tables and measures nothing: what was loaded, and what to know of it."""
    handling = Handling(bench_plan.prepare, cleanup=False)
    with _conducted(bench_plan, engine, observe, handling, None, measured=False) as call:
        (ended,) = call.succeeded()
        manifest = ended.manifest
        return manifest.loads, _warnings(manifest.load_warnings)


def cleanup_tables(bench_plan: BenchPlan, engine: Engine, *, observe: Observer) -> None:
    """Lets the script drop its tables and measures nothing."""
    handling = Handling("no", cleanup=True)
    with _conducted(bench_plan, engine, observe, handling, None, measured=False) as call:
        call.succeeded()


@dataclass(slots=True)
class _Call:
    """One call of a verb, carried out."""

    script: Path
    place: OneRun
    events: list[RunEnded] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    raised: LabError | None = None

    def ended(self) -> Sequence[RunEnded]:
        """How each run ended. Raises `LabError` if none could even be stored."""
        if not self.events:
            assert self.raised is not None, "a run without an end"
            raise self.raised
        return self.events

    def succeeded(self) -> Sequence[RunEnded]:
        """The same; raises `LabError` if anything failed."""
        ended = self.ended()
        if (failure := self.failure()) is not None:
            raise failure
        return ended

    def failure(self) -> LabError | None:
        """Why nothing was measured."""
        failure = self.first_failure
        if isinstance(failure, InterruptedRunError):
            return InterruptedRunError("interrupted before anything was measured")
        if isinstance(failure, StatementError) and "prepare" in self.phases[-1:]:
            return StatementError(
                f"while the tables were prepared, {failure.message}",
                hint="where they are there already, drop and load them anew "
                "(`bench --prepare=replace`, `prepare --replace`), or use those there are",
            )
        return failure

    @property
    def first_failure(self) -> LabError | None:
        """Of the runs, or what ended all of them."""
        of_runs = (run.failure for run in self.events if run.failure is not None)
        return next(of_runs, self.raised)

    def see(self, event: Event) -> None:
        """Takes note of what the end is judged by."""
        if isinstance(event, PhaseStarted):
            self.phases.append(event.phase)
        if isinstance(event, RunEnded):
            self.events.append(event)


@contextmanager
def _conducted(
    bench_plan: BenchPlan,
    engine: Engine,
    observe: Observer,
    handling: Handling,
    store: Store | None,
    *,
    measured: bool,
) -> Iterator[_Call]:
    """Carries the plan out; what is stored stays at least as long as the block."""
    sides = _sides(bench_plan)
    folders = script_path()
    script = find_script(bench_plan.script, folders)
    scripts = {script_name(script): script}
    study = study_of(bench_plan, script, sides)
    own = own_collectors(study, folders) if store is not None else ()
    plan = plan_of(study, bench_plan.seed, measured=measured)
    _try_settings(sides)

    def opened(
        cell: Cell, folders: Sequence[Path], logs: Path, host: Host
    ) -> AbstractContextManager[Server]:
        # The study has no password.
        side = next(side for side in sides if side.name in cell.levels.values())
        return open_server(f"{BY_URL}{side.url}", {}, logs, session=side.settings)

    with (
        scratch_folder("bench") as scratch,
        scripts_named(scripts),
        one_run_folder(store or Store(scratch / "store"), study, plan) as place,
    ):
        call = _Call(script, place)

        def watch(event: Event) -> None:
            call.see(event)
            observe(event)

        setting = Setting(
            study=study,
            plan=plan,
            engine=engine,
            script_path=folders,
            observe=watch,
            own=own,
            open_server=opened,
            tables=_handlings(plan, handling),
            sampled=store is not None,
            command_line=bench_plan.command_line,
            scripts=scripts,
        )
        try:
            if store is not None:
                observe(StudyStarted(plan, place.folder.stored.name, plan.runs))
            for batch in batches(plan, plan.runs):
                conduct_batch(setting, batch, place.folder)
                if call.first_failure is not None:
                    break
        except LabError as error:
            call.raised = error
        if len(plan.runs) > 1 and handling.cleanup and call.phases:
            _clean_up(bench_plan, engine, observe, quiet=call.first_failure is not None)
        yield call


def _sides(bench_plan: BenchPlan) -> tuple[BenchSide, ...]:
    """Raises `UsageError` for what is no URL, and for two sides that are one."""
    for url in (bench_plan.url, bench_plan.against):
        if url is not None:
            check_url(url)
    if bench_plan.against == bench_plan.url and not bench_plan.settings:
        raise UsageError(
            "--against names the same database: nothing differs between the two sides",
            hint="name another one, or a setting of one side's sessions: --with NAME=VALUE",
        )
    stem = Path(bench_plan.script).stem
    return sides_of(bench_plan.url, bench_plan.against, bench_plan.settings, stem)


def _try_settings(sides: Sequence[BenchSide]) -> None:
    """Raises `ServerError` for a setting that sessions can't have, before anything is measured."""
    for side in sides:
        if side.settings:
            with (
                scratch_folder("settings") as logs,
                open_server(f"{BY_URL}{side.url}", {}, logs, session=side.settings) as server,
            ):
                server.start()


def _handlings(plan: Plan, handling: Handling) -> Mapping[str, Handling]:
    """What each run does with the tables, by its id: the first on each database loads them. A
    single run drops them at its end; several leave it to `_clean_up`, since a failure may end the
    bench before its last run."""
    cleanup = handling.cleanup and len(plan.runs) == 1
    found: dict[str, Handling] = {}
    seen: set[str] = set()
    for run in plan.runs:
        first = run.cell.provision not in seen
        seen.add(run.cell.provision)
        found[run.id] = Handling(handling.prepare if first else "no", cleanup)
    return found


def _clean_up(bench_plan: BenchPlan, engine: Engine, observe: Observer, *, quiet: bool) -> None:
    """Drops the tables on every database; `quiet`: another failure is reported already."""
    for url in dict.fromkeys(filter(None, (bench_plan.against, bench_plan.url))):
        alone = replace(bench_plan, url=url, against=None, settings={}, repeat=1)
        with suppress(LabError) if quiet else nullcontext():
            cleanup_tables(alone, engine, observe=observe)


def _result(ended: RunEnded, script: Path, kept: str | None) -> BenchResult:
    manifest, (summary,) = ended.manifest, ended.summaries
    (step,) = manifest.steps
    return BenchResult(
        side=next(iter(manifest.cell.values())),
        summary=summary,
        script=script,
        versions=manifest.versions,
        reactor=step.reactor or "",
        scheduling=step.scheduling or "",
        clock=step.clock or "",
        processes=step.processes or 1,
        shards=step.shards or 1,
        shards_bound=bool(step.shards_bound),
        loads=manifest.loads,
        warnings=(*_warnings(manifest.load_warnings), *_warnings(step.warnings)),
        failure=ended.failure,
        lab=manifest.lab,
        kept=kept,
    )


def _warnings(stored: Sequence[Mapping[str, object]]) -> tuple[EngineWarning, ...]:
    return tuple(map(_warning, stored))


def _warning(stored: Mapping[str, object]) -> EngineWarning:
    hint = stored.get("hint")
    return EngineWarning(str(stored["code"]), str(stored["message"]), str(hint) if hint else None)
