"""Batches: runs that are up at the same time. They are set up together, driven step by step, and
taken down.

A run that fails for a reason of its own (its server died, refused or would not start; its script or
outside program failed) is recorded and the others go on. A failure that every run would share ends
the batch, and with it the study: the run that met it is told by it, the others are interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from dbdyno.collect import Sampler, Watched
from dbdyno.conduct.events import RunEnded, RunStarted
from dbdyno.conduct.host import Host, apply_host, own_part, shared_part
from dbdyno.conduct.run import RunConductor
from dbdyno.conduct.search import search_step
from dbdyno.conduct.setting import Setting
from dbdyno.conduct.turns import drive_turns
from dbdyno.errors import (
    EngineLostError,
    InterruptedRunError,
    LabError,
    ScriptError,
    ServerError,
    StatementError,
    StoreError,
)
from dbdyno.guard.account import server_account
from dbdyno.model import PlannedRun, RunManifest
from dbdyno.servers.place import data_parent
from dbdyno.store import StudyFolder

_RUN_S_OWN = (ServerError, ScriptError, StatementError, EngineLostError)

NONE: Mapping[str, LabError] = {}


def conduct_batch(
    setting: Setting,
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    *,
    hopeless: Mapping[str, LabError] = NONE,
) -> tuple[RunManifest, ...]:
    """Carries out `runs` together and stores each in its own folder.

    Those that are `hopeless` (id → why) are not tried, but stored as failed with that reason.
    Raises `LabError` for failures that other runs would share, and `InterruptedRunError`; in both
    cases after storing what was measured.
    """
    attempt = folder.next_attempt(runs)
    conductors = [_begin(setting, run, runs, folder, attempt) for run in runs]
    for conductor in conductors:
        conductor.failure = hopeless.get(conductor.run.id)
    common: LabError | None = None
    with Sampler(setting.collectors("host"), Watched()) as shared:
        try:
            with apply_host(shared_part(runs[0].cell.host), folder.path) as host:
                _carry_out(conductors, host, shared, folder)
        except KeyboardInterrupt:
            names = ", ".join(run.id for run in runs)
            common = InterruptedRunError(f"interrupted in run {names}; what was measured is kept")
        except StoreError:
            _give_up(conductors)
            raise  # nothing more can be written; the next run removes the partial folders
        except LabError as error:
            common = error
    cut_short = _cut_short(conductors, common)
    manifests = tuple(_finish(conductor, shared, cut_short) for conductor in conductors)
    if common is not None:
        raise common
    return manifests


def _begin(
    setting: Setting,
    run: PlannedRun,
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    attempt: int,
) -> RunConductor:
    setting.observe(RunStarted(run, attempt))
    writer = folder.writer(run, attempt=attempt)
    return RunConductor(setting, run, writer, attempt, batch=tuple(each.id for each in runs))


def _carry_out(
    conductors: Sequence[RunConductor], host: Host, shared: Sampler, folder: StudyFolder
) -> None:
    with ExitStack() as stack:
        conductors = [each for each in conductors if each.failure is None]
        for conductor in conductors:
            own = apply_host(own_part(conductor.run.cell.host), folder.path)
            conductor.host = host.joined(stack.enter_context(own))
            stack.callback(conductor.take_down)
        for conductor in conductors:
            stack.callback(_leave, conductor)
            with _its_own_failure(conductor):
                conductor.set_up()
        for index in range(max((len(each.run.steps) for each in conductors), default=0)):
            going = [each for each in conductors if each.failure is None]
            if going:
                _step(going, index, shared, folder)


def _leave(conductor: RunConductor) -> None:
    if conductor.is_set_up:
        with _its_own_failure(conductor):
            conductor.leave()


def _step(going: Sequence[RunConductor], index: int, shared: Sampler, folder: StudyFolder) -> None:
    if len(going) > 1 and going[0].setting.plan.order == "turns":
        going[0].host.before_step()
        scratch = data_parent(folder.path, server_account())
        drive_turns(going, index, shared, _its_own_failure, scratch)
        return
    for conductor in going:
        with _its_own_failure(conductor), conductor.sampled_edges(shared):
            step = conductor.run.steps[index]
            if going[0].setting.study.load.find_max is None:
                conductor.step(step)
            else:
                search_step(conductor, step)


@contextmanager
def _its_own_failure(conductor: RunConductor) -> Iterator[None]:
    """Records a run's failure; one of its own ends nothing else."""
    try:
        yield
    except (StoreError, InterruptedRunError):
        raise
    except LabError as error:
        conductor.failure = conductor.failure or error
        if not isinstance(error, _RUN_S_OWN):
            raise


def _cut_short(conductors: Sequence[RunConductor], common: LabError | None) -> LabError | None:
    """Why the runs of a batch ended that did not fail themselves."""
    if common is None or isinstance(common, InterruptedRunError):
        return common
    met = [each.run.id for each in conductors if each.failure is common]
    return InterruptedRunError(f"interrupted because {met[0]} failed") if met else common


def _give_up(conductors: Sequence[RunConductor]) -> None:
    for conductor in conductors:
        with conductor.writer:
            conductor.take_down()


def _finish(conductor: RunConductor, shared: Sampler, cut_short: LabError | None) -> RunManifest:
    conductor.failure = conductor.failure or cut_short
    with conductor.writer:
        manifest = conductor.finish(shared)
    ended = RunEnded(conductor.run, manifest, tuple(conductor.summaries), conductor.failure)
    conductor.setting.observe(ended)
    return manifest
