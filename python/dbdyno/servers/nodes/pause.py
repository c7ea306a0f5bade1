"""Pauses a server's processes by SIGSTOP; they go on at the latest when its guard ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard import pauser
from dbdyno.guard.family import family_of
from dbdyno.servers.nodes.daemon import Daemon

_LIMIT_S = 20.0
_POLL_S = 0.005
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from dbdyno.guard.pauser import main; main()"
)


class Pause:
    """At most one at a time, of a daemon's process and all below it."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._pauser: int | None = None
        self._head = 0

    def begin(self) -> None:
        """Returns when all of them are stopped; does nothing if they already are.

        # Errors
        `ServerError` if the server has ended, or can't be paused.
        """
        daemon = self._daemon
        daemon.check()
        if self._pauser is not None or not daemon.alive():
            return
        self._head = daemon.processes()[0]
        output = daemon.log.parent / "pauser.log"
        output.unlink(missing_ok=True)
        package = Path(pauser.__file__).parents[2]
        self._pauser = daemon.guarded.spawn(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, package, str(self._head)],
            output=output,
            cwd=daemon.log.parent,
            env={},
            death_signal=signal.SIGTERM,
        )
        deadline = time.monotonic() + _LIMIT_S
        while not (output.exists() and pauser.PAUSED in output.read_text()):
            ended = daemon.guarded.wait(self._pauser, _POLL_S) is not None
            if ended or time.monotonic() > deadline:
                self.end()
                raise ServerError(f"{daemon.name} can't be paused", hint=daemon.log_tail(output))
        output.unlink()

    def end(self) -> None:
        """Makes them go on; does nothing if they weren't paused."""
        if self._pauser is None:
            return
        ending, self._pauser = self._pauser, None
        self._daemon.guarded.signal(ending, signal.SIGTERM)
        if self._daemon.guarded.wait(ending, _LIMIT_S) != 0:
            for pid in family_of(self._head):  # Somebody has killed the pauser.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
