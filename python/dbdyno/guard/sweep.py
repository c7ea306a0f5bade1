"""What dead guards left behind, undone and removed."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import LabError, MachineError
from dbdyno.guard.account import server_account
from dbdyno.guard.ipc import remove_dead_ipc
from dbdyno.guard.journal import Step, mend, state_folder
from dbdyno.guard.locked_folder import LOCK_NAME, remove_locked_folder

FOLDER_PREFIX = "dbdyno-"
"""How temporary folders begin, so that left-overs of a power cut are found."""


def left_over(reason: str) -> MachineError:
    return MachineError(
        f"a change to this machine could not be undone: {reason}",
        hint="`dbdyno doctor --mend` tries again",
    )


def temporary_parents() -> Sequence[Path]:
    """Where temporary folders are made: for sockets the first, for large data the last."""
    return (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))


def sweep() -> Sequence[Step]:
    """Cleans up after dead guards: after a power cut, or if guard and lab were both killed.
    Carries out the undos in their journals, then removes their folders.

    # Errors
    `MachineError` if the folder of journals can't be trusted.
    """
    try:
        steps = mend(state_folder())
    except OSError as error:
        raise MachineError(f"left-overs of dead runs can't be looked for: {error}") from error
    remove_dead_memory()
    for parent in temporary_parents():
        for lock_file in parent.glob(f"{FOLDER_PREFIX}*/{LOCK_NAME}"):
            _remove_if_free(lock_file)
    return steps


def remove_dead_memory() -> None:
    with contextlib.suppress(LabError):  # Nobody to run a server: none has left anything.
        account = server_account()
        remove_dead_ipc(account.uid if account else os.geteuid())


def _remove_if_free(lock_file: Path) -> None:
    try:
        descriptor = os.open(lock_file, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.geteuid():
            remove_locked_folder(lock_file.parent)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
