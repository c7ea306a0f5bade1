"""Batches: runs that are up at the same time. They are set up together, driven step by step, and
taken down.

A run that fails for a reason of its own (its server died, refused or would not start; its script or
outside program failed) is recorded and the others go on. A failure that every run would share ends
the batch, and with it the study: the run that met it is told by it, the others are interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager

from dbdyno.collect import Sampler, Watched, activity_now
from dbdyno.conduct.events import RunEnded, RunStarted
from dbdyno.conduct.host import Host, apply_host, apply_host_of_members, own_part, shared_part
from dbdyno.conduct.run import Run
from dbdyno.conduct.run.identity import Identity
from dbdyno.conduct.search import search_step
from dbdyno.conduct.setting import Setting
from dbdyno.conduct.topology import hosts_of_members, planned_members
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
from dbdyno.servers.nodes.place import data_parent
from dbdyno.store import StudyFolder, share_host_journal

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
    begun = [_begin(setting, planned, runs, folder, attempt) for planned in runs]
    for run in begun:
        run.fail(hopeless.get(run.identity.planned.id))
    common: LabError | None = None
    journal = share_host_journal([run.identity.writer.folder for run in begun])
    with (
        closing(journal),
        Sampler(setting.collectors("host"), Watched(), keep=journal.samples) as shared,
    ):
        journal.metrics(shared.metrics())
        try:
            with apply_host(shared_part(runs[0].cell.host), folder.path) as host:
                _carry_out(begun, host, shared, folder)
        except KeyboardInterrupt:
            names = ", ".join(planned.id for planned in runs)
            common = InterruptedRunError(f"interrupted in run {names}; what was measured is kept")
        except StoreError:
            _give_up(begun)
            raise  # nothing more can be written; the next run removes the partial folders
        except LabError as error:
            common = error
    cut_short = _cut_short(begun, common)
    manifests = tuple(_finish(run, shared, cut_short) for run in begun)
    if common is not None:
        raise common
    return manifests


def _begin(
    setting: Setting,
    planned: PlannedRun,
    batch: Sequence[PlannedRun],
    folder: StudyFolder,
    attempt: int,
) -> Run:
    setting.observe(RunStarted(planned, attempt))
    writer = folder.writer(planned, attempt=attempt)
    ids = tuple(run.id for run in batch)
    return Run(Identity(setting, planned, writer, attempt, batch=ids))


def _carry_out(runs: Sequence[Run], host: Host, shared: Sampler, folder: StudyFolder) -> None:
    with ExitStack() as stack:
        going = [run for run in runs if run.failure is None]
        if not going:
            return
        activity = activity_now()  # Before the servers of the batch are part of it.
        hosts: list[Host] = []
        for run in going:
            cell = run.identity.cell
            names = [member.name for member in planned_members(cell)]
            own = stack.enter_context(apply_host(own_part(cell.host), folder.path, names))
            members = apply_host_of_members(hosts_of_members(cell), folder.path)
            hosts.append(host.joined(own).joined(stack.enter_context(members)))
            stack.callback(run.take_down)
        for run, its_host in zip(going, hosts, strict=True):
            stack.callback(_leave, run)
            with _its_own_failure(run):
                run.set_up(its_host, activity)
        for index in range(max((len(run.identity.planned.steps) for run in going), default=0)):
            up = [run for run in going if run.failure is None]
            if up:
                _step(up, index, shared, folder)


def _leave(run: Run) -> None:
    if run.is_set_up:
        with _its_own_failure(run):
            run.leave()


def _step(going: Sequence[Run], index: int, shared: Sampler, folder: StudyFolder) -> None:
    setting = going[0].identity.setting
    if len(going) > 1 and setting.plan.order == "turns":
        going[0].served.host.before_step()
        scratch = data_parent(folder.path, server_account())
        drive_turns(going, index, shared, _its_own_failure, scratch)
        return
    for run in going:
        with _its_own_failure(run), run.served.sampled_edges(shared):
            step = run.identity.planned.steps[index]
            if setting.study.load.find_max is None:
                run.step(step)
            else:
                search_step(run, step)


@contextmanager
def _its_own_failure(run: Run) -> Iterator[None]:
    """Records a run's failure; one of its own ends nothing else."""
    try:
        yield
    except (StoreError, InterruptedRunError):
        raise
    except LabError as error:
        run.fail(error)
        if not isinstance(error, _RUN_S_OWN):
            raise


def _cut_short(runs: Sequence[Run], common: LabError | None) -> LabError | None:
    """Why the runs of a batch ended that did not fail themselves."""
    if common is None or isinstance(common, InterruptedRunError):
        return common
    met = [run.identity.planned.id for run in runs if run.failure is common]
    return InterruptedRunError(f"interrupted because {met[0]} failed") if met else common


def _give_up(runs: Sequence[Run]) -> None:
    for run in runs:
        with run.identity.writer:
            run.take_down()


def _finish(run: Run, shared: Sampler, cut_short: LabError | None) -> RunManifest:
    run.fail(cut_short)
    identity = run.identity
    with identity.writer:
        manifest = run.finish(shared)
    ended = RunEnded(identity.planned, manifest, tuple(run.measured.summaries), run.failure)
    identity.setting.observe(ended)
    return manifest
