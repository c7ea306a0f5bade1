"""What a process is given before it begins: its standard streams, and a /proc that shows it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dbdyno.errors import MachineError

_PROC = Path("/proc/self")


def open_missing_streams() -> None:
    """Standard streams that were closed (`>&-`) go nowhere: the next file that is opened, or a
    program that is started, would take its place."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free: this one.
            os.set_inheritable(number, True)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def check_processes_visible() -> None:
    """Raises `MachineError` where /proc is not that of this process's PID namespace: what is read
    there of a server would be another process's."""
    ours, hint = str(os.getpid()), "mount it in the namespace: `unshare --pid --fork --mount-proc`"
    try:
        shown = str(_PROC.readlink())
    except OSError as error:
        raise MachineError(f"{_PROC} can't be read: {error.strerror}", hint=hint) from error
    if shown != ours:
        raise MachineError(
            f"/proc shows the processes of another PID namespace: this one is {ours}, and {shown} "
            "there",
            hint=hint,
        )
