"""How a step or a run ended: as an exception, and as a manifest holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from dbdyno.engine import Outcome
from dbdyno.errors import InterruptedRunError, LabError
from dbdyno.model import EngineWarning, Failure, RunStatus, Step, StepResult
from dbdyno.servers import Server


def raise_failure(outcome: Outcome, server: Server) -> None:
    """Turns a bad end into its exception; a dead server explains everything else."""
    if outcome.interrupted:
        raise InterruptedRunError("interrupted; what was measured is kept")
    server.check()
    if outcome.failure is not None:
        raise outcome.failure


def step_result(step: Step, outcome: Outcome, warnings: Sequence[EngineWarning]) -> StepResult:
    """A step as a manifest holds it."""
    hello = outcome.hello
    status: RunStatus = "complete"
    if outcome.failure is not None or outcome.summary is None:
        status = "failed"
    elif outcome.interrupted or outcome.summary.interrupted:
        status = "interrupted"
    return StepResult(
        index=step.index,
        clients=step.clients,
        seed=step.seed,
        status=status,
        engine_start_unix_ns=hello.start_unix_ns if hello else None,
        reactor=hello.reactor if hello else None,
        shards=hello.shards if hello else None,
        scheduling=hello.scheduling if hello else None,
        clock=hello.clock if hello else None,
        shards_bound=hello.shards_bound if hello else None,
        warnings=tuple(map(asdict, warnings)),
    )


def status_of(failure: LabError | None, *, interrupted: bool = False) -> RunStatus:
    """What became of a run that ended so; `interrupted`: by a signal, without any failure."""
    if failure is None:
        return "interrupted" if interrupted else "complete"
    return "interrupted" if isinstance(failure, InterruptedRunError) else "failed"


def failure_of(error: LabError | None) -> Failure | None:
    """An exception as a manifest holds it."""
    if error is None:
        return None
    return Failure(type(error).__name__, error.message, error.exit_code, error.hint)
