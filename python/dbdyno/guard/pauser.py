"""A program that pauses a process and its descendants until it gets a signal to end.

The kernel sends it that signal when its guard dies, so no pause outlives the guard. Standard
library only.
"""

import os
import signal
import sys
from contextlib import suppress

from dbdyno.guard.family import family_of

ENDS = frozenset({signal.SIGTERM, signal.SIGINT})
PAUSED = "paused"
"""What it prints once all processes are paused."""


def main() -> None:
    """Its argument is the process's pid."""
    head = int(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    family = [head]
    try:
        _send(head, signal.SIGSTOP)  # It makes no more processes, and reaps none.
        family = list(family_of(head))
        for pid in family:
            _send(pid, signal.SIGSTOP)
        os.write(1, f"{PAUSED}\n".encode())
        signal.sigwait(ENDS)
    finally:
        for pid in family:
            _send(pid, signal.SIGCONT)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
