"""Converts the engine's failures into the lab's errors."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.errors import (
    ConnectError,
    EngineError,
    LabError,
    MachineError,
    ScriptError,
    StatementError,
    UsageError,
)
from dbdyno.model import Fatal, FatalKind

_BY_KIND: Mapping[FatalKind, type[LabError]] = {
    "usage": UsageError,
    "script": ScriptError,
    "connection": ConnectError,
    "statement": StatementError,
    "environment": MachineError,
    "internal": EngineError,
}
_BY_CODE: Mapping[int, type[LabError]] = {
    2: UsageError,
    3: ScriptError,
    4: ConnectError,
    5: StatementError,
    6: MachineError,
}


def error_of(fatal: Fatal) -> LabError:
    """The error for a `fatal` record."""
    if fatal.kind == "script":
        traceback = fatal.traceback if _names_a_line(fatal.traceback or "") else None
        return ScriptError(fatal.message, hint=fatal.hint, traceback=traceback)
    return _BY_KIND[fatal.kind](fatal.message, hint=fatal.hint)


def _names_a_line(traceback: str) -> bool:
    """Whether a traceback leads to a script, and not only through the engine's own Lua."""
    others = ("stack traceback:", "[C]:", "prelude:")
    return any(not line.strip().startswith(others) for line in traceback.splitlines())


def error_of_code(code: int, stderr: str) -> LabError:
    """The error for an engine that ended with this exit code and no record; `said`: the end of its
    standard error."""
    message = stderr or f"the engine ended with code {code} and no message"
    return _BY_CODE.get(code, EngineError)(message)
