"""What a process inherits: its standard streams, and a /proc that shows its own processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dbdyno.errors import MachineError

_PROC = Path("/proc/self")


def open_missing_streams() -> None:
    """Opens standard streams that were closed (`>&-`) on /dev/null: the next file that is opened
    would get their number, and what is printed would go into that file."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # Gets the lowest free number, which is this one.
            os.set_inheritable(number, True)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def check_processes_visible() -> None:
    """Raises `MachineError` if /proc belongs to another PID namespace than this process: figures
    read there for a server would be those of some other process."""
    ours, hint = str(os.getpid()), "mount it in the namespace: `unshare --pid --fork --mount-proc`"
    try:
        shown = str(_PROC.readlink())
    except OSError as error:
        raise MachineError(f"{_PROC} can't be read: {error.strerror}", hint=hint) from error
    if shown != ours:
        raise MachineError(
            f"/proc shows the processes of another PID namespace: this process is {ours}, and "
            f"{shown} there",
            hint=hint,
        )
