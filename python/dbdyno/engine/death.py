"""Explains the death of an engine that was killed by a signal, as far as this machine tells."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import EngineCrashError, EngineLostError, ScriptError
from dbdyno.guard.family import CRASHES

_CALLS_C = re.compile(r"\brequire\s*\(?\s*[\"']ffi[\"']|\bpackage\.loadlib\b")
_COUNTERS = Path("/proc/vmstat")


def out_of_memory_kills() -> int | None:
    """How many processes the kernel has killed for lack of memory since boot; `None` if it does
    not count them."""
    try:
        lines = _COUNTERS.read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(" ") for line in lines)
    return next((int(count) for name, _, count in found if name == "oom_kill"), None)


def script_calling_c(spec: Mapping[str, Any]) -> str:
    """The first script of a spec whose own text calls C, which may crash the engine; otherwise
    empty."""
    for group in spec.get("groups", ()):
        try:
            text = Path(group["script"]).read_text("utf-8", errors="replace")
        except OSError:
            continue
        if _CALLS_C.search(text):
            return str(group["script"])
    return ""


def lost_engine(
    number: int, before: int | None, stderr: str, calls_c: str = ""
) -> EngineLostError | ScriptError:
    """The failure of a run whose engine was ended by signal `number`.

    `before` is the value of `out_of_memory_kills` at its start, `said` the end of its standard
    error, `calls_c` the result of `script_calling_c`.
    """
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    now = out_of_memory_kills()
    if number == signal.SIGKILL and before is not None and now is not None and now > before:
        return EngineLostError(
            f"the engine was killed ({name}): the kernel ran out of memory meanwhile",
            hint="fewer clients or rows, or more memory (in a container: a higher limit)",
        )
    if number in CRASHES and calls_c:
        return ScriptError(
            f"{calls_c}: the engine crashed ({name}), and this script calls C, which can crash it"
            + (f": {stderr}" if stderr else ""),
            hint="try it without what it calls in C (`ffi`, `package.loadlib`); if that crashes "
            "too, report it with the run's spec and logs/engine.log",
        )
    if number in CRASHES:
        return EngineCrashError(
            f"the engine crashed ({name})" + (f": {stderr}" if stderr else ""),
            hint="a bug in dbdyno: report it with the run's spec and logs/engine.log",
        )
    return EngineLostError(
        f"the engine was killed ({name}) by somebody else: a person, a service manager, a limit",
        hint=_WHO,
    )


def stopped_engine() -> EngineLostError:
    """The failure of a run whose engine ended in order because of a signal that we did not send."""
    return EngineLostError(
        "the engine was told to end (SIGINT or SIGTERM) by somebody else: a person, a service "
        "manager",
        hint=_WHO,
    )


_WHO = "otherwise the system log may say who: `journalctl`, `dmesg`"
