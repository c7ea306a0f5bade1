"""Explains the death of an engine that was killed by a signal, as far as this machine tells."""

from __future__ import annotations

import signal
from pathlib import Path

from dbdyno.errors import EngineCrashError, EngineLostError
from dbdyno.guard.family import CRASHES

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


def lost_engine(number: int, before: int | None, said: str) -> EngineLostError:
    """The failure of a run whose engine was ended by signal `number`.

    `before` is the value of `out_of_memory_kills` at its start, `said` the end of its standard
    error.
    """
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    now = out_of_memory_kills()
    if number == signal.SIGKILL and before is not None and now is not None and now > before:
        return EngineLostError(
            f"the engine was killed ({name}): the kernel ran out of memory meanwhile",
            hint="fewer clients or rows, or more memory (in a container: a higher limit)",
        )
    if number in CRASHES:
        return EngineCrashError(
            f"the engine crashed ({name})" + (f": {said}" if said else ""),
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
