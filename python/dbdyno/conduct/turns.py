"""One step of several cells, driven in turns of a few seconds while the others are idle.

Each cell has its own engine, connected all the time. A round gives every cell one turn, in a
balanced order, so that the turns compared are seconds apart, not minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import psutil

from dbdyno.collect import Canaries, Sampler
from dbdyno.collect.held_back import held_back
from dbdyno.conduct.ending import cause
from dbdyno.conduct.freezing import frozen
from dbdyno.conduct.run import Run
from dbdyno.design.batches import turns_of
from dbdyno.design.turns import CANARIES_APART_S, turn_orders
from dbdyno.engine import EngineInTurns, Speedometer, open_speedometer, open_turns
from dbdyno.errors import InterruptedRunError, LabError
from dbdyno.model import Canary, Step, Turn, TurnResult
from dbdyno.store import response_figures_ns

_AHEAD_NS = 15_000_000
"""How far ahead a turn's start lies, so that every process learns of it in time."""

_AHEAD_OF_HOSTS_NS = 300_000_000
"""The same where they are on other hosts."""

Forgive = Callable[[Run], AbstractContextManager[None]]
"""Records a failure of one run as that run's, and lets the others go on."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell while its step is driven."""

    run: Run
    step: Step
    engine: EngineInTurns


@dataclass(frozen=True, slots=True)
class _Watch:
    """What is read beside a turn of any cell."""

    shared: Sampler
    held_back: Callable[[], float | None]


def drive_turns(
    runs: Sequence[Run],
    index: int,
    shared: Sampler,
    forgive: Forgive,
    scratch: Path,
) -> None:
    """Runs step `index` of all `runs`. Raises `LabError` for a failure that isn't one run's
    own.

    `scratch` is a folder on the disk that servers have their data on.
    """
    with ExitStack() as stack:
        cells: list[_Cell] = []
        for run in runs:
            with forgive(run):
                step = run.identity.planned.steps[index]
                stack.enter_context(run.phase(step))
                with _explained(run):
                    engine = stack.enter_context(_open(run, step))
                    engine.ready()
                cells.append(_Cell(run, step, engine))
        for cell in cells:
            stack.push(_Conclusion(cell, forgive))
        _take_turns(cells, shared, forgive, scratch)


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """Stores the result of a cell's turns, also if its own failure, a signal or another cell cut
    the step short: what comes of that does not hide the cause."""

    cell: _Cell
    forgive: Forgive

    def __call__(
        self,
        kind: type[BaseException] | None,
        cause: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        run = self.cell.run
        over = cause is None and run.failure is None
        with self.forgive(run) if over else suppress(LabError):
            self._conclude()

    def _conclude(self) -> None:
        self.cell.run.engine.conclude(self.cell.step, self.cell.engine.end())
        self.cell.run.served.end_counting(self.cell.step)


@contextmanager
def _explained(run: Run) -> Iterator[None]:
    """Raises the server's failure instead of the engine's if the run's server has died."""
    try:
        yield
    except InterruptedRunError:
        raise
    except LabError as error:
        raise cause(error, run.served.server) from error


def _open(run: Run, step: Step) -> AbstractContextManager[EngineInTurns]:
    name, setting, logs = f"step-{step.index}", run.identity.setting, run.identity.writer.logs
    spec = run.engine.spec(step)
    run.engine.keep_spec(name, spec)
    run.served.begin_counting()
    return open_turns(
        setting.engine,
        spec,
        listener=run.engine.listener(step),
        log=logs / "engine.log",
        processes=setting.study.load.processes,
        keep=logs / name,
        launch=run.served.host.client,
        hosts=setting.hosts,
        reconnect=setting.study.design.reconnect,
        is_lost=lambda: not run.served.server.alive(),
    )


def _take_turns(cells: Sequence[_Cell], shared: Sampler, forgive: Forgive, scratch: Path) -> None:
    if not cells:
        return
    setting, first = cells[0].run.identity.setting, cells[0].run.identity.planned
    rounds = turns_of(setting.study)
    orders = turn_orders(len(cells), rounds, seed=setting.plan.seed, block=first.block)
    servers = [cell.run.served.server for cell in cells]
    watch = _Watch(shared, held_back())
    with (
        Canaries(scratch) as canaries,
        open_speedometer(setting.engine) as speedometer,
        frozen(servers, wanted=setting.study.design.freeze) as freezer,
    ):
        before: Canary | None = canaries.run()
        ran_s = time.monotonic()
        for number, order in enumerate(orders):
            for position, place in enumerate(order):
                cell, turn = cells[place], None
                if cell.run.failure is not None:
                    continue
                with (
                    forgive(cell.run),
                    _explained(cell.run),
                    freezer.let_go_on(cell.run.served.server),
                ):
                    turn = _turn(cell, number, position, watch, speedometer)
                after = None
                if time.monotonic() - ran_s >= CANARIES_APART_S:
                    after, ran_s = canaries.run(), time.monotonic()
                if turn is not None:
                    cell.run.identity.writer.turn(replace(turn, before=before, after=after))
                before = after


def _turn(
    cell: _Cell, number: int, position: int, watch: _Watch, speedometer: Speedometer
) -> TurnResult:
    """Runs one turn; a cell's first turn includes the warm-up."""
    study, served = cell.run.identity.setting.study, cell.run.served
    lead_in_s = study.before_window_s(number, cell.step.clients)
    with served.sampled_edges(watch.shared):
        held_before_s = watch.held_back()
        before_s, began_s = psutil.cpu_times(), time.monotonic()
        with served.lab_counted(speedometer.cpu_s):
            ahead_ns = _AHEAD_NS if not study.load.hosts else _AHEAD_OF_HOSTS_NS
            turn = cell.engine.turn(time.time_ns() + ahead_ns, lead_in_s, study.design.turn_s)
        after_s, over_s = psutil.cpu_times(), time.monotonic() - began_s
        held_after_s = watch.held_back()
    steal_s = getattr(after_s, "steal", 0.0) - getattr(before_s, "steal", 0.0)
    result = turn_result(
        turn,
        step=cell.step.index,
        number=number,
        position=position,
        origin_ns=cell.run.engine.start_unix_ns(),
        steal_s=steal_s if hasattr(after_s, "steal") else None,
        steal_over_s=over_s,
    )
    speed = speedometer.between(result.start_unix_ns, result.end_unix_ns)
    result = replace(result, speed=speed)
    if held_before_s is None or held_after_s is None:
        return result
    return replace(result, held_back_s=held_after_s - held_before_s)


def turn_result(
    turn: Turn,
    *,
    step: int,
    number: int,
    position: int,
    origin_ns: int,
    steal_s: float | None,
    steal_over_s: float | None = None,
) -> TurnResult:
    """A turn as stored; `origin_ns` is the wall clock at the engine's time 0."""
    figures = {name: ns / 1000 for name, ns in response_figures_ns(turn.histograms).items()}
    statements = turn.measured.reads + turn.measured.writes + turn.measured.other
    return TurnResult(
        step=step,
        round=number,
        position=position,
        start_unix_ns=origin_ns + turn.measure_ns,
        end_unix_ns=origin_ns + turn.end_ns,
        drained_unix_ns=origin_ns + turn.drained_ns,
        window_s=turn.window_s,
        events=turn.measured.events,
        statements=statements,
        errors=turn.measured.errors,
        client_cpu_us=turn.cpu.user_us + turn.cpu.system_us,
        turn_events=turn.total.events,
        p50_us=figures.get("p50"),
        p95_us=figures.get("p95"),
        p99_us=figures.get("p99"),
        max_us=figures.get("max"),
        steal_s=steal_s,
        steal_over_s=steal_over_s,
    )
