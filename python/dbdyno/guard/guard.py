"""The guard: a small process between the lab and a server, so that nothing outlives the lab.

It owns what a run made and changed: processes, temporary folders, network namespaces, and the undo
of every change to the machine, which it keeps in a journal (`journal.py`). Its standard input is a
pipe from the lab: commands, one JSON object a line, each answered on standard output. When the pipe
ends, for whatever reason, the guard kills the processes (their data is scratch: nothing is gained
by an orderly stop), carries out the undos, the last first, and removes the folders. If the guard
itself is killed, the kernel signals its children (`PR_SET_PDEATHSIG`), and the journal waits for
the next command.

It imports nothing but the standard library and its own room: it sits beside a server being
measured, and must be small and asleep. It is single-threaded because the death signal follows the
thread that made the child.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.guard.family import end_children
from dbdyno.guard.ipc import remove_dead_ipc
from dbdyno.guard.journal import HostLock, Journal, mend
from dbdyno.guard.keeper import adopt_orphans, die_with, keep
from dbdyno.guard.launch import Launch
from dbdyno.guard.locked_folder import lock_folder, remove_locked_folder
from dbdyno.guard.undo import Undo, read_switch, remove_folder, write, write_text

_CLONE_NEWNET = 0x40000000
_MENDED_S = 2.0
"""How long a process that only looks for leftovers of killed runs may lock the host."""

_libc = ctypes.CDLL(None, use_errno=True)


class Guard:
    """Carries out commands until the lab closes its end of the pipe."""

    def __init__(self, state: Path, holder: str) -> None:
        """`state`: folder of journals; `holder`: our name for processes that wait for us."""
        self._state = state
        self._holder = holder
        self._journal: Journal | None = None
        self._host: HostLock | None = None
        self._children: dict[int, int] = {}
        """Pid → the account it runs as."""
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

    def serve(self) -> bool:
        """Runs until the pipe ends or a signal asks to stop, then cleans up. Returns false if
        something could not be undone; that stays in the journal."""
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
            undone = self._close()
        return undone

    def _on_stop(self, *_: object) -> None:
        self._stopping = True

    def _obey(self, command: Mapping[str, Any]) -> None:
        verbs = {
            "spawn": self._spawn,
            "signal": self._signal,
            "folder": self._folder,
            "hold": self._hold,
            "write": self._write,
            "undo": self._undo,
            "network": self._network,
        }
        try:
            answer = verbs[command["do"]](command)
        except OSError as error:
            reason = f"{error.strerror}: {error.filename}" if error.filename else str(error)
            answer = {"error": reason, "taken": isinstance(error, BlockingIOError)}
        _tell({"id": command["id"], **answer})

    def _folder(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Makes a temporary folder that is removed with the guard; a sweep finds it only where it
        looks, and in the journal."""
        folder = Path(tempfile.mkdtemp(prefix=command["prefix"], dir=command["parent"]))
        if not command["swept"]:
            self._journal_of_ours().hold(remove_folder(folder))
        self._folders.append(folder)
        if command["locked"]:
            self._locks.append(lock_folder(folder))
        if command["uid"] is not None:
            os.chown(folder, command["uid"], command["gid"])
        return {"path": str(folder)}

    def _hold(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Records an undo; it is on disk before the lab gets its answer."""
        undo = Undo.from_document(command["undo"])
        if undo.host_wide:
            self._take_host()
        return {"number": self._journal_of_ours().hold(undo)}

    def _write(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Writes a switch. Its old value is read under the host's lock, or it might be another
        study's."""
        path, value = command["path"], command["value"]
        self._take_host()
        old = read_switch(path)
        journal = self._journal_of_ours()
        number = journal.hold(write(path, old=old, new=value))
        try:
            write_text(path, value)
        except OSError:
            journal.carry_out(number)
            raise
        new = read_switch(path)
        if new != value:  # The kernel has its own way of writing some values.
            journal.amend(number, write(path, old=old, new=new))
        return {"number": number, "old": old, "new": new}

    def _undo(self, command: Mapping[str, Any]) -> dict[str, Any]:
        return {"remark": self._journal_of_ours().carry_out(command["number"])}

    def _network(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Makes a network namespace without a name; only our descriptor keeps it alive."""
        home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _checked(_libc.unshare(_CLONE_NEWNET))
            made = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            _checked(_libc.setns(home, _CLONE_NEWNET))
        finally:
            os.close(home)
        return {"path": f"/proc/{os.getpid()}/fd/{made}"}

    def _journal_of_ours(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._state)
        return self._journal

    def _take_host(self) -> None:
        """Locks the host until we end. First undoes what dead guards have left: otherwise their
        values would be taken for the original ones."""
        if self._host is not None:
            return
        host = HostLock(self._state, self._holder, patience_s=_MENDED_S)
        for step in mend(self._state, host):
            if step.error is not None and step.undo.host_wide:
                host.close()
                raise OSError(f"a killed run's change is still there; {step.undo}: {step.error}")
        self._host = host

    def _spawn(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Starts a process in its own session, its output appended to files; below a keeper if it
        may make processes of its own.

        Its user and limits are set between fork and exec, while it is still root.
        """
        guard_pid, death_signal = os.getpid(), command["death_signal"]
        launch = Launch.from_document(command["launch"])
        reason_read, reason_write = os.pipe()

        def become() -> None:
            try:
                launch.enter()
                if command["uid"] is not None:
                    os.setgroups([])
                    os.setregid(command["gid"], command["gid"])
                    os.setreuid(command["uid"], command["uid"])
            except OSError as error:
                os.write(reason_write, str(error.strerror).encode())
                raise
            # After the change of user, which the kernel takes for a reason to forget it.
            if command["kept"]:
                keep(guard_pid)
            else:
                die_with(guard_pid, death_signal)

        try:
            pid = self._start(command, become)
        except subprocess.SubprocessError as error:
            os.set_blocking(reason_read, False)
            raise OSError(os.read(reason_read, 4096).decode()) from error
        finally:
            os.close(reason_read)
            os.close(reason_write)
        self._children[pid] = os.geteuid() if command["uid"] is None else command["uid"]
        return {"pid": pid}

    def _start(self, command: Mapping[str, Any], become: Callable[[], None]) -> int:
        with (
            Path(command["output"]).open("ab") as output,
            Path(command["error"]).open("ab") as error,
            Path(command["stdin"]).open() as given,
        ):
            process = subprocess.Popen(
                command["argv"],
                stdin=given,
                stdout=output,
                stderr=error,
                cwd=command["cwd"],
                env=command["env"],
                start_new_session=True,
                preexec_fn=become,
            )
        process.returncode = 0  # Reaped here, by pid; subprocess must not wait for it too.
        return process.pid

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
        """Reaps processes that ended, and cleans up after them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid not in self._children:
                continue
            account = self._children.pop(pid)
            # Processes whose parent, our child, is gone: we are their subreaper.
            end_children(but=self._children)
            remove_dead_ipc(account)
            _tell({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _close(self) -> bool:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        while self._children:
            select.select([self._wake_read], [], [], 0.1)
            self._drain_wake_ups()
            self._reap()
        end_children()
        undone = True
        if self._journal is not None:
            undone = self._journal.carry_out_all()
            self._journal.close()
        if self._host is not None:
            self._host.close()
        for folder in self._folders:
            remove_locked_folder(folder)
        return undone


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _tell(event: Mapping[str, Any]) -> None:
    """One line to the lab; when it is gone, the end of the pipe tells us so."""
    try:
        os.write(1, json.dumps(event).encode() + b"\n")
    except BrokenPipeError:
        return


def main() -> int:
    """Serves until the lab is gone; 1 where something could not be undone.

    Arguments: where journals lie, and who we are.
    """
    os.chdir("/")
    adopt_orphans()
    return 0 if Guard(Path(sys.argv[1]), sys.argv[2]).serve() else 1
