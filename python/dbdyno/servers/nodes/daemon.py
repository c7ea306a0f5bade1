"""A server process of one run: started under a guard, watched, stopped, its log quoted in errors.

The parts common to all servers that are programs; each kind's `server.py` knows what to launch and
when it is ready.
"""

import os
import signal
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.account import Account, server_account
from dbdyno.guard.family import family_of
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch

_STOP_LIMIT_S = 60.0
_LOG_TAIL_LINES = 12


class Daemon:
    """At most one process at a time; it and its helpers share one log."""

    def __init__(
        self, name: str, log: Path, launched: Launch, guarded: Guarded | None = None
    ) -> None:
        self.name = name
        """For messages: `postgresql 18.4`."""
        self.log = log
        self.launched = launched
        """How the server is started; its helpers are started like us."""
        self.guarded = guarded or Guarded()
        """Its own, unless several processes share one."""
        self.account: Account | None = None
        self._pid: int | None = None
        self._is_kept = False
        """Whether `_pid` is that of its keeper, below which it runs."""
        self._stopped = False

    def prepare(self) -> None:
        """Sets who will run it, and where its log is."""
        self.account = server_account()
        self.log.parent.mkdir(parents=True, exist_ok=True)

    def give(self, path: Path, *, mode: int | None = None) -> None:
        """Makes a file the property of the server's user."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)
        if mode is not None:
            path.chmod(mode)

    def write_private(self, path: Path, text: str) -> None:
        """Writes a file that nobody but the server's user may read, not even before it is done."""
        path.touch(mode=0o600)
        path.write_text(text)
        self.give(path, mode=0o600)

    def run_helper(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        limit_s: float,
        stdin: Path | None = None,
        output: Path | None = None,
    ) -> None:
        """Runs one of the server's programs to its end; what it says goes into the server's log, or
        into `output`.

        # Errors
        `ServerError` if it fails or takes longer than `limit_s`.
        """
        program = Path(argv[0]).name
        pid = self.guarded.spawn(
            argv,
            output=output or self.log,
            cwd=cwd,
            env=env,
            account=self.account,
            stdin=stdin,
            kept=True,
        )
        code = self.guarded.wait(pid, limit_s)
        if code is None:
            raise ServerError(
                f"{self.name}: {program} took over {limit_s:.0f} s", hint=self.log_tail(output)
            )
        if code != 0:
            raise ServerError(
                f"{self.name}: {program} failed, {describe_exit(code)}", hint=self.log_tail(output)
            )

    def launch(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        death_signal: signal.Signals,
        kept: bool = False,
    ) -> None:
        """Starts the server itself; see `Guarded.spawn` for the signal, and for `kept`."""
        self._stopped, self._is_kept = False, kept
        self._pid = self.guarded.spawn(
            argv,
            output=self.log,
            cwd=cwd,
            env=env,
            account=self.account,
            death_signal=death_signal,
            launch=self.launched,
            kept=kept,
        )

    def ended_within(self, timeout_s: float) -> bool:
        """Waits up to `limit_s` for the process to end."""
        return self._pid is None or self.guarded.wait(self._pid, timeout_s) is not None

    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; `None` while it runs or was not started."""
        return None if self._pid is None else self.guarded.exit_code(self._pid)

    def exit_description(self) -> str:
        """How it ended, in words."""
        return describe_exit(self.exit_code())

    def alive(self) -> bool:
        """Whether it runs."""
        if self._pid is None or self._stopped:
            return False
        try:
            return self.guarded.exit_code(self._pid) is None
        except ServerError:
            return False

    def processes(self) -> Sequence[int]:
        """Pids of the process and of all below it, without its keeper; none when it has ended."""
        if self._pid is None or not self.alive():
            return ()
        return family_of(self._pid)[1 if self._is_kept else 0 :]

    def check(self) -> None:
        """Raises `ServerError` when it has ended without being asked to."""
        if self._pid is None or self._stopped:
            return
        code = self.guarded.exit_code(self._pid)
        if code is not None:
            raise ServerError(
                f"{self.name} ended while it was needed: {describe_exit(code)}",
                hint=self.log_tail(),
            )

    def end(self, number: signal.Signals) -> None:
        """Signals it and waits; SIGKILL follows when it takes over a minute."""
        if self._pid is None or not self.alive():
            return
        self._stopped = True
        self.guarded.signal(self._pid, number)
        if self.guarded.wait(self._pid, _STOP_LIMIT_S) is None:
            self.guarded.signal(self._pid, signal.SIGKILL)
            self.guarded.wait(self._pid, _STOP_LIMIT_S)

    def log_size(self) -> int:
        """Bytes written so far: where the next launch's part of the log begins."""
        return self.log.stat().st_size if self.log.exists() else 0

    def logged_since(self, start: int) -> str:
        """The log from a byte on."""
        with self.log.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

    def log_tail(self, log: Path | None = None) -> str:
        """The last lines of the log, or of another one, as a hint."""
        try:
            lines = (log or self.log).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        if not lines:
            return "its log is empty"
        tail = "\n  ".join(lines[-_LOG_TAIL_LINES:])
        return f"the end of its log says:\n  {tail}"


def describe_exit(code: int | None) -> str:
    """An exit code in words; negative is a signal."""
    if code is None:
        return "still running"
    if code < 0:
        return f"killed by signal {-code} ({signal.Signals(-code).name})"
    return f"exit status {code}"


_given = deque[int](maxlen=100)
"""Servers in namespaces of their own could all have the same port, by which they are told apart."""


def free_port() -> int:
    """A loopback port nobody listens on now, and none of the last hundred that were given."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.append(port)
            return port
