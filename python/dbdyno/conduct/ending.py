"""How a step or run ended: as an exception, and in a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from dbdyno.engine import Outcome
from dbdyno.errors import (
    ConnectError,
    InterruptedRunError,
    LabError,
    ScriptError,
    ServerError,
    kind_named,
)
from dbdyno.model import EngineWarning, Failure, RunStatus, Step, StepResult
from dbdyno.servers import Server


def raise_failure(outcome: Outcome, server: Server) -> None:
    """Raises the exception for a bad end. A dead server of ours takes precedence as the cause; of
    one at a URL the engine says more than that it can't be reached."""
    if outcome.interrupted:
        raise InterruptedRunError("interrupted; what was measured is kept")
    try:
        server.check()
    except ConnectError:
        if outcome.failure is None:
            raise
    if outcome.failure is not None:
        raise outcome.failure


def cause(error: LabError, server: Server) -> LabError:
    """The error of a program, or that its server, one of ours, has died, which explains it."""
    try:
        server.check()
    except ConnectError:
        return error
    except ServerError as death:
        return death
    return error


def step_result(step: Step, outcome: Outcome, warnings: Sequence[EngineWarning]) -> StepResult:
    """A step's outcome as stored in a manifest."""
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
        processes=outcome.processes,
        shards_bound=hello.shards_bound if hello else None,
        warnings=tuple(map(asdict, warnings)),
        hosts=outcome.hosts,
    )


def status_of(failure: LabError | None) -> RunStatus:
    """The outcome of a run."""
    if failure is None:
        return "complete"
    return "interrupted" if isinstance(failure, InterruptedRunError) else "failed"


def failure_of(error: LabError | None) -> Failure | None:
    """An exception as stored in a manifest."""
    if error is None:
        return None
    traceback = error.traceback if isinstance(error, ScriptError) else None
    return Failure(type(error).__name__, error.message, error.exit_code, error.hint, traceback)


def error_of(failure: Failure, *, message: str = "", hint: str | None = None) -> LabError:
    """The exception of a stored failure, in other words if `message` has some."""
    text, cure = message or failure.message, hint if message else failure.hint
    if failure.kind == ScriptError.__name__:
        return ScriptError(text, hint=cure, traceback=failure.traceback)
    return kind_named(failure.kind)(text, hint=cure)
