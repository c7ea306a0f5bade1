"""Asks the engine what it would do with a spec on this machine; the lab does not compute it
itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dbdyno.engine.binary import Engine
from dbdyno.engine.fatal import error_of
from dbdyno.errors import EngineError, LabError, ScriptError
from dbdyno.formats.engine_plan import parse_engine_plan
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model import EnginePlan, Fatal

_LIMIT_S = 20.0
_KNOWN: ContextVar[dict[tuple[str, ...], EnginePlan] | None] = ContextVar("plans", default=None)
_NO_SUCH_VERB = "engine and lab must have the same version: `make setup` builds it in a checkout"


def plan_engine(
    engine: Engine,
    spec: Mapping[str, Any],
    *,
    processes: int | None = None,
    launch: Launch = ORDINARY,
    scripts: bool = False,
) -> EnginePlan:
    """The engine's plan for `spec`; over `processes`, or (`None`) as few as may open all their
    files.

    `launch`: how the engine will be started, which may change its processors. `scripts`: it also
    reads the scripts and asks each for its data, which executes them. Raises the engine's errors
    about the spec, as a run would.
    """
    words = [*launch.prefix(), str(engine.path), "plan"]
    if processes is not None:
        words += ["--processes", str(processes)]
    if scripts:
        return _asked(engine, [*words, "--scripts"], spec)
    asked, known = (*words, _meaning(spec)), _KNOWN.get()
    if known is None:
        return _asked(engine, words, spec)
    if asked not in known:
        known[asked] = _asked(engine, words, spec)
    return known[asked]


@contextmanager
def plans_remembered() -> Iterator[None]:
    """What was asked once is not asked again: starting the engine takes as long as its answer, and
    hundreds of levels have the same."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def _meaning(spec: Mapping[str, Any]) -> str:
    """What the plan depends on: not a file's place, nor other pragmas than the one that says how
    many may write, nor options of scripts."""
    target = {name: value for name, value in spec["target"].items() if name != "path"}
    pragmas = target.get("pragmas", [])
    target["pragmas"] = [pair for pair in pragmas if pair[0].lower() == "journal_mode"]
    groups = [{**group, "options": {}} for group in spec["groups"]]
    return json.dumps({**spec, "target": target, "groups": groups}, sort_keys=True)


def plan_scripts(
    engine: Engine, specs: Sequence[Mapping[str, Any]]
) -> Sequence[EnginePlan | LabError]:
    """A plan with its `volumes` for each spec, or why there is none, by a single process. It
    executes the scripts' top level."""
    if not specs:
        return ()
    answered = _answered(engine, [str(engine.path), "plan", "--scripts"], specs)
    answers = [_understood(line) for line in answered.stdout.splitlines(keepends=True)]
    if len(answers) != len(specs):
        raise _unanswered(engine, answered)
    return answers


def _asked(engine: Engine, words: Sequence[str], spec: Mapping[str, Any]) -> EnginePlan:
    answered = _answered(engine, words, (spec,))
    if answered.returncode == 0:
        return parse_engine_plan(answered.stdout)
    if answered.stdout.endswith(b"\n"):
        answer = _understood(answered.stdout)
        if isinstance(answer, LabError):
            raise answer
    raise _unanswered(engine, answered)


def _answered(
    engine: Engine, words: Sequence[str], specs: Sequence[Mapping[str, Any]]
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [*words, "-"],
            input=b"".join(json.dumps(spec).encode() + b"\n" for spec in specs),
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except OSError as error:
        raise EngineError(f"{engine.path} can't be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        message = f"{engine.path} did not answer `plan` within {_LIMIT_S:g} s"
        if "--scripts" in words:
            raise ScriptError(f"{message}: does a script compute for ever?") from error
        raise EngineError(message) from error


def _understood(line: bytes) -> EnginePlan | LabError:
    """A plan, or the refusal that stands in its place."""
    if b'"record":' not in line:
        return parse_engine_plan(line)
    from dbdyno.formats.records import parse_record

    fatal = parse_record(line, number=1)
    if not isinstance(fatal, Fatal):
        raise EngineError(f"the engine answers `plan` by a record `{type(fatal).__name__}`")
    return error_of(fatal)


def _unanswered(engine: Engine, answered: subprocess.CompletedProcess[bytes]) -> EngineError:
    stderr = answered.stderr.decode(errors="replace").strip()
    return EngineError(
        f"{engine.path} does not answer `plan`: {stderr or f'exit code {answered.returncode}'}",
        hint=_NO_SUCH_VERB if answered.returncode == 2 else None,
    )


def spec_of_clients(
    clients: int, endpoints: Sequence[Mapping[str, Any]], shards: int | None = None
) -> Mapping[str, Any]:
    """A spec with this many clients of a server, for planning only."""
    target = {"driver": "postgresql", "user": "", "database": "", "endpoints": list(endpoints)}
    group = {"script": "", "clients": clients}
    return {"schema": SCHEMA, "target": target, "groups": [group], "shards": shards}
