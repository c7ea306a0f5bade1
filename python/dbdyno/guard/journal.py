"""What is to be undone, on disk: one file for each guard that changed something, one line a step.

A line is on the disk before the change it takes back is made. The file is locked while its guard
lives; one that nobody holds belongs to a guard that was killed, and `mend` carries it out. A host
switch is changed under a lock for the whole host, so that nobody takes the value that another study
has written for the original. Standard library only, like the guard.
"""

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
"""Names another folder than the usual one."""
_ROOTS_FOLDER = Path("/var/lib/dbdyno")
_SUFFIX = ".journal"
_HOST_LOCK = "host.lock"
_NEWBORN_S = 60.0
"""A journal without its final name that is older belongs to nobody."""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one line of a journal."""

    journal: Path
    undo: Undo
    remark: str = ""
    """Why it was left alone on purpose."""
    error: str | None = None
    """Why it could not be done; it stays in the journal."""


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
        """Replaces an undo by one that knows better."""
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

    def carry_out_all(self) -> None:
        """Undoes what is left, the last first. What fails stays in the journal."""
        for number in sorted(self._open, reverse=True):
            try:
                self.carry_out(number)
            except OSError:
                continue

    def close(self) -> None:
        """Leaves the file only when something in it could not be undone."""
        if not self._open:
            self.path.unlink(missing_ok=True)
        os.close(self._file)

    def _append(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)


class HostLock:
    """Held by the one guard that changes switches of the whole host; gone with it."""

    def __init__(self, folder: Path, holder: str) -> None:
        """# Errors
        `BlockingIOError` names who has it.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(safe_folder(folder) / _HOST_LOCK, flags, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            name = os.read(self._file, 4096).decode(errors="replace") or "another process"
            os.close(self._file)
            raise BlockingIOError(f"switches of this host are held by {name}") from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, holder.encode(), 0)

    def close(self) -> None:
        """Lets others have it."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def mend(folder: Path) -> Sequence[Step]:
    """Carries out the journals of guards that are gone; says what became of each step.

    # Errors
    `PermissionError`: see `safe_folder`.
    """
    if not folder.exists():
        return ()
    steps: list[Step] = []
    for path in sorted(safe_folder(folder).iterdir()):
        if path.suffix not in (_SUFFIX, ".new"):
            continue
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        try:
            if path.suffix == _SUFFIX:
                steps += _mend_one(path, file)
            elif time.time() - os.fstat(file).st_mtime > _NEWBORN_S:
                path.unlink(missing_ok=True)
        finally:
            os.close(file)
    return steps


def _mend_one(path: Path, file: int) -> Iterator[Step]:
    now = boot_id()
    failed = False
    for number, boot, undo in reversed(left_to_do(path)):
        if boot != now and not undo.outlives_boot:
            continue
        try:
            yield Step(path, undo, remark=carry_out(undo))
        except OSError as error:
            failed = True
            yield Step(path, undo, error=str(error))
        else:
            os.write(file, json.dumps({"done": number}).encode() + b"\n")
    if not failed:
        path.unlink(missing_ok=True)


def left_to_do(path: Path) -> Sequence[tuple[int, str, Undo]]:
    """Number, boot and undo of each step of a journal that is not done, in the order they were
    made. A torn last line was never acted upon."""
    steps: dict[int, tuple[int, str, Undo]] = {}
    for text in path.read_text().splitlines():
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


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
