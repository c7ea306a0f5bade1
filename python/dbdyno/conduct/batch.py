"""Batches: runs that are up at the same time. They are set up together, driven step by step, and
taken down.

A run that fails for a reason of its own (its server died, refused or would not start) is recorded
and the others go on. A failure that every run would share ends the batch, and with it the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    ServerError,
    StatementError,
    StoreError,
)
from dbdyno.guard.account import server_account
from dbdyno.model import PlannedRun, RunManifest
from dbdyno.servers.place import data_parent
from dbdyno.store import StudyFolder

_RUN_S_OWN = (ServerError, StatementError, EngineLostError)


def conduct_batch(
    setting: Setting, runs: Sequence[PlannedRun], folder: StudyFolder
) -> tuple[RunManifest, ...]:
    """Carries out `runs` together and stores each in its own folder.

    Raises `LabError` for failures that other runs would share, and `InterruptedRunError`; in both
    cases after storing what was measured.
    """
    attempt = folder.next_attempt(runs)
    conductors = [_begin(setting, run, runs, folder, attempt) for run in runs]
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
    manifests = tuple(_finish(conductor, shared, common) for conductor in conductors)
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
        for conductor in conductors:
            own = apply_host(own_part(conductor.run.cell.host), folder.path)
            conductor.host = host.joined(stack.enter_context(own))
            stack.callback(conductor.take_down)
        for conductor in conductors:
            stack.callback(_leave, conductor)
            with _its_own_failure(conductor):
                conductor.set_up()
        for index in range(len(conductors[0].run.steps)):
            going = [each for each in conductors if each.failure is None]
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
    """Records a run's own failure without ending the others."""
    try:
        yield
    except _RUN_S_OWN as error:
        conductor.failure = conductor.failure or error


def _give_up(conductors: Sequence[RunConductor]) -> None:
    for conductor in conductors:
        with conductor.writer:
            conductor.take_down()


def _finish(conductor: RunConductor, shared: Sampler, common: LabError | None) -> RunManifest:
    conductor.failure = conductor.failure or common
    with conductor.writer:
        manifest = conductor.finish(shared)
    ended = RunEnded(conductor.run, manifest, tuple(conductor.summaries), conductor.failure)
    conductor.setting.observe(ended)
    return manifest
