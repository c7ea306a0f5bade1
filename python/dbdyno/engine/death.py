"""What ended an engine that a signal killed, as far as this machine tells."""

from __future__ import annotations

import signal
from pathlib import Path

from dbdyno.errors import EngineLostError

_COUNTERS = Path("/proc/vmstat")
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def out_of_memory_kills() -> int | None:
    """How many processes the kernel has killed for want of memory since it started; `None` where
    it doesn't count them."""
    try:
        lines = _COUNTERS.read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(" ") for line in lines)
    return next((int(count) for name, _, count in found if name == "oom_kill"), None)


def lost_engine(number: int, before: int | None, said: str) -> EngineLostError:
    """The failure of a run whose engine signal `number` has ended.

    `before` is what `out_of_memory_kills` said at its start, `said` the end of its standard error.
    """
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    now = out_of_memory_kills()
    if number == signal.SIGKILL and before is not None and now is not None and now > before:
        return EngineLostError(
            f"the engine was killed ({name}): the kernel ran out of memory meanwhile",
            hint="fewer clients or rows, or more memory (in a container: a higher limit)",
        )
    if number in _FAULTS:
        return EngineLostError(
            f"the engine crashed ({name})" + (f": {said}" if said else ""),
            hint="a fault of dbdyno's own: report it with the run's spec and logs/engine.log",
        )
    return EngineLostError(
        f"the engine was killed ({name}) by somebody else: a person, a service manager, a limit",
        hint=_WHO,
    )


def stopped_engine() -> EngineLostError:
    """The failure of a run whose engine ended in good order, since a signal that wasn't ours asked
    it to."""
    return EngineLostError(
        "the engine was told to end (SIGINT or SIGTERM) by somebody else: a person, a service "
        "manager",
        hint=_WHO,
    )


_WHO = "if nobody did, the log of the machine may say who: `journalctl`, `dmesg`"
