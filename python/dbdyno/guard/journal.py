"""The undos of a guard on disk: one file for each guard that changed something, one line per step.

A line is on disk before its change is made. The file is locked while its guard lives; an unlocked
one belongs to a guard that was killed, and `mend` carries it out. Host switches are changed under
a lock for the whole host, so that no study takes another's value for the original. Standard
library only, like the guard.
"""

import contextlib
import fcntl
import json
import os
import pwd
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.guard.undo import Undo, carry_out

STATE_VARIABLE = "DBDYNO_STATE"
"""Overrides the default folder."""
_ROOTS_FOLDER = Path("/var/lib/dbdyno")
_SUFFIX = ".journal"
_HOST_LOCK = "host.lock"
_NEWBORN_S = 60.0
"""An older journal without its final name belongs to no guard."""
_LOOKED_AT_S = 2.0
"""How long somebody else may look at a journal without carrying it out."""
_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of one line of a journal."""

    journal: Path
    undo: Undo
    remark: str = ""
    """Why it was left alone on purpose."""
    error: str | None = None
    """Why it could not be undone; it stays in the journal."""


def state_folder() -> Path:
    """Where journals lie: for root /var/lib/dbdyno, for others their XDG state folder."""
    if named := os.environ.get(STATE_VARIABLE):
        return Path(named).absolute()
    if os.geteuid() == 0:
        return _ROOTS_FOLDER
    home = os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    return Path(os.environ.get("XDG_STATE_HOME") or f"{home}/.local/state") / "dbdyno"


def safe_folder(folder: Path) -> Path:
    """Makes the folder if need be, and trusts it only when nobody else can write to it.

    # Errors
    `PermissionError` when it belongs to others or is open to them: what lies in it is carried out.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o777 != 0o700 or folder.is_symlink():
        raise PermissionError(
            f"{folder} must be a folder of our own with mode 0700, since what lies in it is "
            f"carried out; `chown` and `chmod` it, or name another in {STATE_VARIABLE}"
        )
    return folder


def boot_id() -> str:
    """Differs after each start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Journal:
    """The journal of a living guard. Removed once nothing in it is left to do."""

    def __init__(self, folder: Path) -> None:
        safe_folder(folder)
        name = f"{os.getpid()}-{time.time_ns()}"
        newborn = folder / f"{name}.new"
        self.path = folder / f"{name}{_SUFFIX}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(newborn, flags, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        newborn.rename(self.path)
        _sync_folder(folder)
        self._open: dict[int, Undo] = {}
        self._last = 0

    def hold(self, undo: Undo) -> int:
        """Keeps an undo; it is on the disk when this returns. Returns its number."""
        self._last += 1
        line = {"number": self._last, "boot": boot_id(), "undo": undo.document()}
        self._append(line)
        self._open[self._last] = undo
        return self._last

    def amend(self, number: int, undo: Undo) -> None:
        """Replaces an undo by a more exact one."""
        self._append({"number": number, "boot": boot_id(), "undo": undo.document()})
        self._open[number] = undo

    def carry_out(self, number: int) -> str:
        """Undoes one step, once. Returns a remark if it was left alone on purpose.

        # Errors
        `OSError` when it can't be done; it stays in the journal.
        """
        if number not in self._open:
            return ""
        remark = carry_out(self._open[number])
        self._append({"done": number})
        del self._open[number]
        return remark

    def carry_out_all(self) -> bool:
        """Undoes what is left, the last first; false where something failed and stays."""
        for number in sorted(self._open, reverse=True):
            with contextlib.suppress(OSError):
                self.carry_out(number)
        return not self._open

    def close(self) -> None:
        """Closes the journal; keeps the file only if something could not be undone."""
        if not self._open:
            self.path.unlink(missing_ok=True)
        os.close(self._file)

    def _append(self, line: Mapping[str, Any]) -> None:
        _write_line(self._file, line)
        os.fsync(self._file)


class HostLock:
    """The lock of the guard that changes switches of the whole host; released when it ends."""

    def __init__(self, folder: Path, holder: str, *, patience_s: float = 0.0) -> None:
        """Waits so long for it.

        # Errors
        `BlockingIOError` names who has it.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(safe_folder(folder) / _HOST_LOCK, flags, 0o600)
        deadline = time.monotonic() + patience_s
        while not _try_lock(self._file):
            if time.monotonic() > deadline:
                name = os.pread(self._file, 4096, 0).decode(errors="replace") or "another process"
                os.close(self._file)
                raise BlockingIOError(f"switches of this host are held by {name}")
            time.sleep(_POLL_S)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, holder.encode(), 0)

    def close(self) -> None:
        """Lets others have it."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def mend(folder: Path, host: HostLock | None = None, *, patience_s: float = 0.0) -> Sequence[Step]:
    """Carries out the journals of guards that are gone; says what became of each step.

    Switches of the host are put back only under its lock: `host`, or taken for as long as this
    lasts. Where another study still has it after `patience_s`, they stay in their journals.

    # Errors
    `PermissionError`: see `safe_folder`.
    """
    if not folder.exists():
        return ()
    held = host or _free_host(safe_folder(folder), patience_s)
    try:
        return [
            step
            for path in sorted(folder.iterdir())
            if path.suffix in (_SUFFIX, ".new")
            for step in _mend_left(path, held)
        ]
    finally:
        if held is not None and held is not host:
            held.close()


def _free_host(folder: Path, patience_s: float) -> HostLock | None:
    try:
        return HostLock(folder, this_program(), patience_s=patience_s)
    except BlockingIOError:
        return None


def _mend_left(path: Path, host: HostLock | None) -> Iterator[Step]:
    """Carries out one journal, if its guard is dead."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        # A guard removes its journal before it lets go of it.
        if not _lock(file, path, host) or os.fstat(file).st_nlink == 0:
            return
        if path.suffix == _SUFFIX:
            yield from _mend_one(path, file, host)
        elif time.time() - os.fstat(file).st_mtime > _NEWBORN_S:
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _lock(file: int, path: Path, host: HostLock | None) -> bool:
    """Whether the journal is ours now. While we have the host, no living guard has switches to put
    back: a locked journal with some is being looked at by somebody who will leave them to us."""
    deadline = time.monotonic() + _LOOKED_AT_S
    while True:
        if _try_lock(file):
            return True
        waits = host is not None and any(undo.host_wide for _, _, undo in left_to_do(path))
        if not waits or time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _mend_one(path: Path, file: int, host: HostLock | None) -> Iterator[Step]:
    now = boot_id()
    left = False
    for number, boot, undo in reversed(left_to_do(path)):
        if boot != now and not undo.outlives_boot:
            continue
        if undo.host_wide and host is None:
            left = True
            yield Step(path, undo, error="another study holds the switches of this host")
            continue
        try:
            yield Step(path, undo, remark=carry_out(undo))
        except OSError as error:
            left = True
            yield Step(path, undo, error=str(error))
        else:
            _write_line(file, {"done": number})
    if not left:
        path.unlink(missing_ok=True)


def left_to_do(path: Path) -> Sequence[tuple[int, str, Undo]]:
    """Number, boot and undo of each step of a journal that is not done, in the order they were
    made; none of one that is gone. A torn last line was never acted upon."""
    steps: dict[int, tuple[int, str, Undo]] = {}
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return ()
    for text in lines:
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if "done" in line:
            steps.pop(line["done"], None)
        else:
            undo = Undo.from_document(line["undo"])
            steps[line["number"]] = (line["number"], line["boot"], undo)
    return [steps[number] for number in sorted(steps)]


def this_program() -> str:
    """Who we are, for one that finds the host's switches taken."""
    return f"process {os.getpid()} (`{' '.join([Path(sys.argv[0]).name, *sys.argv[1:]])}`)"


def _write_line(file: int, line: Mapping[str, Any]) -> None:
    """All of it or nothing: a disk that is almost full takes a part.

    # Errors
    `OSError` when there is no room.
    """
    before = os.fstat(file).st_size
    rest = memoryview(json.dumps(line).encode() + b"\n")
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, before)
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
