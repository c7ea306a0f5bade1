"""The guard: a small process between the lab and a server, so that nothing outlives the lab.

It owns what a run made: processes and temporary folders. Its standard input is a pipe from the
lab: commands, one JSON object a line, each answered on standard output. When the pipe ends, for
whatever reason, the guard stops the processes (their own gentle signal, then SIGKILL for
everything below it) and removes the folders. If the guard itself is killed, the kernel signals its
children (`PR_SET_PDEATHSIG`).

It is run by its path and imports nothing but the standard library: it sits beside a server being
measured, and must be small and asleep. It is single-threaded because the death signal follows the
thread that made the child.
"""

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCK_NAME = "guard.lock"
"""A file in each temporary folder, locked as long as its guard lives."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0
_SEM_GETPID, _SEM_GETVAL = 11, 12
_SHM_READ_ONLY = 0o10000
_POSTGRES_SEMAPHORE_MARK = 537
"""PGSemaMagic: what PostgreSQL before 10 keeps in the last semaphore of each of its sets."""
_POSTGRES_DSM_CONTROL_OFFSET = 24
"""Where PGShmemHeader names the control segment under /dev/shm; the same from 9.4 to 18."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Child:
    """A process asked for by the lab."""

    pid: int
    stop_signal: int
    grace_s: float


class Guard:
    """Carries out commands until the lab's end of the pipe is gone."""

    def __init__(self) -> None:
        self._children: dict[int, Child] = {}
        self._folders: list[Path] = []
        self._locks: list[int] = []
        self._stopping = False
        self._wake_read, wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)

    def serve(self) -> None:
        """Runs until the pipe ends or a signal asks to stop; then leaves nothing behind."""
        pending = b""
        try:
            while not self._stopping:
                ready, _, _ = select.select([0, self._wake_read], [], [])
                if self._wake_read in ready:
                    self._drain_wake_ups()
                    self._reap()
                if 0 in ready:
                    data = os.read(0, 65536)
                    if not data:
                        break
                    *lines, pending = (pending + data).split(b"\n")
                    for line in lines:
                        self._obey(json.loads(line))
        finally:
            self._close()

    def _on_stop(self, *_: object) -> None:
        self._stopping = True

    def _obey(self, command: Mapping[str, Any]) -> None:
        verbs = {"spawn": self._spawn, "signal": self._signal, "folder": self._folder}
        try:
            answer = verbs[command["do"]](command)
        except OSError as error:
            answer = {
                "error": f"{error.strerror}: {error.filename}" if error.filename else str(error)
            }
        _tell({"id": command["id"], **answer})

    def _folder(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Makes a temporary folder that is removed with the guard."""
        folder = Path(tempfile.mkdtemp(prefix=command["prefix"], dir=command["parent"]))
        self._folders.append(folder)
        unlocked = folder / f"{LOCK_NAME}.new"
        lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        unlocked.rename(folder / LOCK_NAME)
        self._locks.append(lock)
        if command["uid"] is not None:
            os.chown(folder, command["uid"], command["gid"])
        return {"path": str(folder)}

    def _spawn(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Starts a process in a session of its own, its output appended to a file."""
        guard_pid, death_signal = os.getpid(), command["death_signal"]

        def tie_to_guard() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
            if os.getppid() != guard_pid:
                raise ProcessLookupError

        account: dict[str, Any] = {}
        if command["uid"] is not None:
            account = {"user": command["uid"], "group": command["gid"], "extra_groups": []}
        with Path(command["output"]).open("ab") as output, Path(command["stdin"]).open() as given:
            process = subprocess.Popen(
                command["argv"],
                stdin=given,
                stdout=output,
                stderr=output,
                cwd=command["cwd"],
                env=command["env"],
                start_new_session=True,
                preexec_fn=tie_to_guard,
                **account,
            )
        process.returncode = 0  # Reaped here, by pid; subprocess must not wait for it too.
        child = Child(process.pid, command["stop_signal"], command["grace_s"])
        self._children[child.pid] = child
        return {"pid": child.pid}

    def _signal(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if command["pid"] in self._children:
            os.kill(command["pid"], command["number"])
        return {}

    def _drain_wake_ups(self) -> None:
        try:
            while os.read(self._wake_read, 4096):
                pass
        except BlockingIOError:
            return

    def _reap(self) -> None:
        """Takes note of processes that ended, with everything they left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self._children.pop(pid, None) is None:
                continue
            self._kill_orphans()
            remove_ipc(pid)
            _tell({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _kill_orphans(self) -> None:
        """Ends processes whose parent, one of our children, is gone (we are their subreaper)."""
        while orphans := [pid for pid in children_of(os.getpid()) if pid not in self._children]:
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _close(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for child in list(self._children.values()):
            os.kill(child.pid, child.stop_signal)
        deadline = time.monotonic() + max((c.grace_s for c in self._children.values()), default=0)
        while self._children and time.monotonic() < deadline:
            select.select([self._wake_read], [], [], 0.1)
            self._drain_wake_ups()
            self._reap()
        for pid in list(self._children):
            os.kill(pid, signal.SIGKILL)
        while self._children:
            select.select([self._wake_read], [], [], 0.1)
            self._drain_wake_ups()
            self._reap()
        self._kill_orphans()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _tell(event: Mapping[str, Any]) -> None:
    """One line to the lab; when it is gone, the end of the pipe tells us so."""
    try:
        os.write(1, json.dumps(event).encode() + b"\n")
    except BrokenPipeError:
        return


def children_of(parent: int) -> Sequence[int]:
    """Pids of the living children of a process, zombies included."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.name))
    return found


def remove_ipc(creator: int) -> None:
    """Removes shared memory and semaphores that a dead process made and left behind.

    PostgreSQL removes its own unless the postmaster is killed outright. The kernel names the
    creator of System V memory; the memory's header names PostgreSQL's control segment under
    /dev/shm, and that one holds the names of the other segments.
    """
    for segment, pid in _sysv_table("shm", ("shmid", "cpid")):
        if pid == creator:
            _remove_dynamic_memory(segment)
            _libc.shmctl(segment, _IPC_RMID, None)
    for semaphores, count in _sysv_table("sem", ("semid", "nsems")):
        last = count - 1
        if (
            _libc.semctl(semaphores, last, _SEM_GETVAL) == _POSTGRES_SEMAPHORE_MARK
            and _libc.semctl(semaphores, last, _SEM_GETPID) == creator
        ):
            _libc.semctl(semaphores, 0, _IPC_RMID)


def _sysv_table(name: str, columns: tuple[str, str]) -> Sequence[tuple[int, int]]:
    try:
        head, *rows = Path("/proc/sysvipc", name).read_text().splitlines()
    except OSError:
        return []
    first, second = (head.split().index(column) for column in columns)
    return [(int(row.split()[first]), int(row.split()[second])) for row in rows]


def _remove_dynamic_memory(segment: int) -> None:
    _libc.shmat.restype = ctypes.c_void_p
    address = _libc.shmat(segment, None, _SHM_READ_ONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return
    offset = address + _POSTGRES_DSM_CONTROL_OFFSET
    control_name = ctypes.c_uint32.from_address(offset).value
    _libc.shmdt(ctypes.c_void_p(address))
    control = Path("/dev/shm", f"PostgreSQL.{control_name}")
    if not control.exists():
        return
    words = set(memoryview(control.read_bytes()).cast("I"))
    for candidate in control.parent.glob("PostgreSQL.*"):
        if int(candidate.suffix[1:]) in words:
            candidate.unlink(missing_ok=True)
    control.unlink(missing_ok=True)


if __name__ == "__main__":
    os.chdir("/")
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    Guard().serve()
