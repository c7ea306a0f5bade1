"""The lab's end of a guard: processes, folders and changes that do not outlive the lab.

See `guard.py` for the other end. Only the guard signals a child by its pid, because only a parent
knows that a pid still means the same process.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from dbdyno.errors import LabError, MachineError, NotStartedError, ServerError
from dbdyno.guard import guard
from dbdyno.guard.account import Account
from dbdyno.guard.held import Held, not_held
from dbdyno.guard.journal import mend, state_folder, this_program
from dbdyno.guard.launch import Launch
from dbdyno.guard.locked_folder import remove_locked_folder
from dbdyno.guard.sweep import FOLDER_PREFIX, left_over, remove_dead_memory, temporary_parents
from dbdyno.guard.undo import Undo, system_environment
from dbdyno.guard.uninterrupted import uninterrupted

_PIPE_READ_SIZE = 65536
_COMMAND_LIMIT_S = 120.0
_TOLD_BYTES = 500
_OTHERS_LOOK_S = 2.0
"""How long another command that looks for left-overs may hold the host's switches."""
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from dbdyno.guard.guard import main; "
    "raise SystemExit(main())"
)


class Guarded:
    """A guard, running from when it is first asked for something. When the `with` block ends, or
    this process dies, everything it owns is removed."""

    def __init__(self) -> None:
        self._state = state_folder()
        self._closed = False
        self._lock = threading.RLock()
        self._pending = b""
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._exit_codes: dict[int, int] = {}
        self._folders: list[Path] = []
        self._scratch: Path | None = None
        self._last_id = 0
        self._lost = False

    @cached_property
    def _process(self) -> "subprocess.Popen[bytes]":
        """Starting it takes as long as a Python does: `check` opens servers by the hundred, and
        asks nothing of their guards."""
        assert not self._closed, "a guard that was closed is asked for nothing"
        package = Path(guard.__file__).parents[2]
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, package, self._state, this_program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self.close()
        except MachineError as left:
            if error is None:
                raise
            if isinstance(error, LabError):  # What went wrong first is told first.
                error.hint = "\n".join(filter(None, (error.hint, left.message, left.hint)))

    def folder(
        self,
        parent: Path,
        *,
        prefix: str = FOLDER_PREFIX,
        account: Account | None = None,
        locked: bool = True,
    ) -> Path:
        """Makes a folder (mode 0700, owned by the account) that goes with the guard. Unless it is
        `locked`, the guard keeps no file in it open: its file system can be unmounted meanwhile.

        # Errors
        `ServerError` when the parent can't be written.
        """
        swept = parent in temporary_parents()
        answer = self._ask(
            do="folder",
            parent=str(parent),
            prefix=prefix,
            swept=swept,
            locked=locked or swept,
            **_ids(account),
        )
        folder = Path(answer["path"])
        self._folders.append(folder)
        return folder

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        output: Path,
        cwd: Path,
        env: Mapping[str, str],
        account: Account | None = None,
        stdin: Path | None = None,
        error: Path | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
        launch: Launch | None = None,
        kept: bool = False,
    ) -> int:
        """Starts a process; returns its pid. Without `stdin` it has nothing to read; without
        `error` what it writes there goes to `output`, too.

        It is killed when the lab is gone; `death_signal` is what the kernel does when the guard is.
        `kept`: for a program that starts others, which must end with it; the pid is then its
        keeper's (`keeper.py`), which passes SIGINT on and ends as the program does.
        """
        launched = launch or Launch()
        answer = self._ask(
            do="spawn",
            argv=[str(word) for word in argv],
            output=str(output),
            error=str(error or output),
            stdin=str(stdin or os.devnull),
            cwd=str(cwd),
            env={**env, **dict(launched.environment)},
            death_signal=death_signal,
            launch=launched.document(),
            kept=kept,
            **_ids(account),
        )
        return int(answer["pid"])

    def run(self, argv: Sequence[str | Path], *, limit_s: float = _COMMAND_LIMIT_S) -> str:
        """Runs a command to its end and returns its output. Unlike a child of ours, it does not
        keep running after our death.

        # Errors
        `MachineError` if it fails or takes longer.
        """
        if self._scratch is None:
            self._scratch = self.folder(temporary_parents()[0])
        output = self._scratch / "output"
        output.unlink(missing_ok=True)
        pid = self.spawn(argv, output=output, cwd=self._scratch, env=system_environment())
        code = self.wait(pid, limit_s)
        if code is None:
            self.signal(pid, signal.SIGKILL)
        printed = output.read_text(errors="replace")
        if code != 0:
            ended = f"took over {limit_s:.0f} s" if code is None else f"ended with {code}"
            command = " ".join(map(str, argv))
            last = printed.strip()[-_TOLD_BYTES:] or "nothing"
            raise MachineError(f"`{command}` {ended}", hint=f"it says: {last}")
        return printed

    def hold(self, undo: Undo) -> Held:
        """Records an undo on disk before the change is made.

        # Errors
        `MachineError` if another study holds the host's switches, or the undo can't be recorded.
        """
        answer = self._answer(do="hold", undo=undo.document())
        if "error" in answer:
            raise not_held(f"make sure to {undo}", answer)
        return Held(self.undo, answer["number"])

    def write(self, path: Path, value: str) -> Held:
        """Writes a switch under /proc/sys or /sys and keeps what it said before.

        # Errors
        `MachineError` when another study holds the host's switches, or the kernel refuses.
        """
        answer = self._answer(do="write", path=str(path), value=value)
        if "error" in answer:
            raise not_held(f"write `{value}` into {path}", answer)
        return Held(self.undo, answer["number"], old=answer["old"], new=answer["new"])

    def undo(self, number: int) -> str:
        """See `Held.undo`."""
        answer = self._answer(do="undo", number=number)
        if "error" in answer:
            raise left_over(answer["error"])
        return str(answer["remark"])

    def network(self) -> Path:
        """A new network namespace, as a file to enter it by; it goes with the guard.

        # Errors
        `MachineError` when we may not make one.
        """
        answer = self._answer(do="network")
        if "error" in answer:
            raise MachineError(
                f"no network namespace can be made: {answer['error']}", hint="run as root"
            )
        return Path(answer["path"])

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Signals one of our processes; nothing happens when it has ended."""
        self._ask(do="signal", pid=pid, number=number)

    def exit_code(self, pid: int) -> int | None:
        """How a process ended, negative for a signal; `None` while it runs.

        # Errors
        `ServerError` when the guard was killed: then the process has been too.
        """
        with self._lock:
            self._listen(timeout_s=0)
            if pid not in self._exit_codes and self._lost:
                raise self._lost_error()
            return self._exit_codes.get(pid)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """Waits for a process to end; `None` when it had not by then."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            while (code := self.exit_code(pid)) is None:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return None
                self._listen(timeout_s=left_s)
            return code

    def close(self) -> None:
        """Kills what still runs, undoes what is held, removes the folders; can be called twice.

        An interrupt waits for its end: after a guard that was killed nobody else would do it.

        # Errors
        `MachineError` when something could not be undone; it stays in the journal.
        """
        with uninterrupted(), self._lock:
            if "_process" not in vars(self):
                self._closed = True
                return
            assert self._process.stdin is not None and self._process.stdout is not None
            if self._process.stdin.closed:
                return
            with contextlib.suppress(BrokenPipeError):  # What a dead guard did not read.
                self._process.stdin.close()
            while not self._lost:
                self._listen(timeout_s=None)
            whole = self._process.wait() == 0
            self._process.stdout.close()
            for folder in self._folders if whole else ():
                remove_locked_folder(folder)
            if not whole:
                self._mend()

    def _mend(self) -> None:
        """Cleans up after a guard that was killed or could not undo everything."""
        remove_dead_memory()
        try:
            steps = mend(self._state, patience_s=_OTHERS_LOOK_S)
        except OSError as error:
            raise left_over(str(error)) from error
        finally:
            for folder in self._folders:
                remove_locked_folder(folder)
        ours = f"{self._process.pid}-"
        for step in steps:
            if step.error is not None and step.journal.name.startswith(ours):
                raise left_over(f"{step.undo}: {step.error}")

    def _ask(self, **command: Any) -> Mapping[str, Any]:
        answer = self._answer(**command)
        if "error" in answer:
            what = command.get("argv", [command.get("parent")])[0]
            kind = NotStartedError if command["do"] == "spawn" else ServerError
            raise kind(f"could not {command['do']} `{what}`: {answer['error']}")
        return answer

    def _answer(self, **command: Any) -> Mapping[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            self._last_id += 1
            line = json.dumps({"id": self._last_id, **command}).encode() + b"\n"
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except BrokenPipeError as error:
                raise self._lost_error() from error
            while self._last_id not in self._answers:
                if self._lost:
                    raise self._lost_error()
                self._listen(timeout_s=None)
            answer = self._answers.pop(self._last_id)
            self._answers.clear()
        return answer

    def _listen(self, timeout_s: float | None) -> None:
        """Reads the guard's messages, waiting up to `timeout_s` for one; `None`: for ever."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        if self._lost or not select.select([descriptor], [], [], timeout_s)[0]:
            return
        data = os.read(descriptor, _PIPE_READ_SIZE)
        self._lost = not data
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if "exited" in event:
                self._exit_codes[event["exited"]] = event["code"]
            else:
                self._answers[event["id"]] = event

    def _lost_error(self) -> ServerError:
        return ServerError(
            f"a guard (process {self._process.pid}) was killed, and the server or program that it "
            "had started with it",
            hint="look for the out-of-memory killer in `dmesg`, then run again",
        )


def _ids(account: Account | None) -> dict[str, int | None]:
    if account is None:
        return {"uid": None, "gid": None}
    return {"uid": account.uid, "gid": account.gid}
