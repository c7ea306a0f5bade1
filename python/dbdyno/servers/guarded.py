"""The lab's end of a guard: processes and folders that can't outlive the lab.

See `guard.py` for the other end. Nothing here touches a child by its pid: the guard does, because
only a parent knows that a pid still means the same process.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from dbdyno.errors import ServerError
from dbdyno.servers import guard
from dbdyno.servers.account import Account

FOLDER_PREFIX = "dbdyno-"
"""How temporary folders begin, so that left-overs of a power cut are found."""

_PIPE_READ_SIZE = 65536


class Guarded:
    """A running guard. Leave the `with` block, or die, and all it owns goes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._lock = threading.RLock()
        self._pending = b""
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._exit_codes: dict[int, int] = {}
        self._folders: list[Path] = []
        self._last_id = 0
        self._lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(
        self, parent: Path, *, prefix: str = FOLDER_PREFIX, account: Account | None = None
    ) -> Path:
        """Makes a folder (mode 0700, owned by the account) that goes with the guard.

        # Errors
        `ServerError` when the parent can't be written.
        """
        answer = self._ask(do="folder", parent=str(parent), prefix=prefix, **_ids(account))
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
        stop_signal: signal.Signals = signal.SIGTERM,
        death_signal: signal.Signals = signal.SIGKILL,
        grace_s: float = 10.0,
    ) -> int:
        """Starts a process; returns its pid.

        `stop_signal` and `grace_s` are what the guard does when the lab is gone; `death_signal` is
        what the kernel does when the guard is gone. Without `stdin` it has nothing to read.
        """
        answer = self._ask(
            do="spawn",
            argv=[str(word) for word in argv],
            output=str(output),
            stdin=str(stdin or os.devnull),
            cwd=str(cwd),
            env=dict(env),
            stop_signal=stop_signal,
            death_signal=death_signal,
            grace_s=grace_s,
            **_ids(account),
        )
        return int(answer["pid"])

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
        """Stops what still runs and removes the folders; can be called twice."""
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None
            if self._process.stdin.closed:
                return
            self._process.stdin.close()
            while not self._lost:
                self._listen(timeout_s=None)
            self._process.wait()
            self._process.stdout.close()
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, **command: Any) -> Mapping[str, Any]:
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
        if "error" in answer:
            what = command.get("argv", [command.get("parent")])[0]
            raise ServerError(f"could not {command['do']} `{what}`: {answer['error']}")
        return answer

    def _listen(self, timeout_s: float | None) -> None:
        """Takes in what the guard has said, waiting so long for something."""
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
            f"the guard of a server (process {self._process.pid}) was killed, and the server "
            "with it",
            hint="look for the out-of-memory killer in `dmesg`, then run again",
        )


def _ids(account: Account | None) -> dict[str, int | None]:
    if account is None:
        return {"uid": None, "gid": None}
    return {"uid": account.uid, "gid": account.gid}


def temporary_parents() -> Sequence[Path]:
    """Where temporary folders are made: for sockets the first, for large data the last."""
    return (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))


def sweep() -> None:
    """Removes temporary folders whose guard is gone: after a power cut, or both were killed."""
    for parent in temporary_parents():
        for lock_file in parent.glob(f"{FOLDER_PREFIX}*/{guard.LOCK_NAME}"):
            try:
                descriptor = os.open(lock_file, os.O_RDWR | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid():
                    shutil.rmtree(lock_file.parent, ignore_errors=True)
            except BlockingIOError:
                continue
            finally:
                os.close(descriptor)
