"""Shared memory and semaphores that dead servers leave; standard library only, like the guard.

PostgreSQL removes its own unless the postmaster is killed outright. The kernel names the creator of
System V memory; the memory's header names PostgreSQL's control segment under /dev/shm, and that one
holds the names of the other segments.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_IPC_RMID = 0
_SEM_GETPID, _SEM_GETVAL = 11, 12
_SHM_READ_ONLY = 0o10000
_POSTGRES_SEMAPHORE_MARK = 537
"""PGSemaMagic: what PostgreSQL before 10 keeps in the last semaphore of each of its sets."""
_POSTGRES_MEMORY_MARK = 679834894
"""PGShmemMagic: the first word of PGShmemHeader."""
_POSTGRES_HEADER_BYTES = 56
"""Size of PGShmemHeader, all that is in such memory since 9.3."""
_POSTGRES_DSM_CONTROL_OFFSET = 24
"""Where PGShmemHeader names the control segment under /dev/shm; the same from 9.4 to 18."""
_DYNAMIC_MEMORY = Path("/dev/shm")
_CONTROL_BYTES_MAX = 4 << 20
"""Of a control segment: some 16 bytes for each of five times as many segments as connections."""
_ENDED = ("Z", "X")
"""States in /proc/PID/stat: a zombie, and dead."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmdt.argtypes = [ctypes.c_void_p]


def remove_dead_ipc(uid: int) -> None:
    """Removes an account's PostgreSQL shared memory and semaphores whose maker has ended; memory
    only where no process has it attached.

    It searches the whole account because a maker's pid may be unknown: the server that makes a data
    folder is a child of `initdb`, which reaps it.
    """
    columns = ("shmid", "cpid", "uid", "nattch", "size")
    for segment, pid, owner, attached, size in _sysv_table("shm", *columns):
        if owner == uid and attached == 0 and _is_gone(pid):
            with _attached(segment) as address:
                is_postgres = address is not None and _is_header(address, size)
            if is_postgres:
                _remove_segment(segment)
    for semaphores, count, owner in _sysv_table("sem", "semid", "nsems", "uid"):
        last = count - 1
        if (
            owner == uid
            and _libc.semctl(semaphores, last, _SEM_GETVAL) == _POSTGRES_SEMAPHORE_MARK
            and _is_gone(_libc.semctl(semaphores, last, _SEM_GETPID))
        ):
            _libc.semctl(semaphores, 0, _IPC_RMID)
    _remove_unfinished(uid)


def _remove_unfinished(uid: int) -> None:
    """Removes control segments whose postmaster was killed while it made them, so that no header
    names them: still empty, and nobody has them open or mapped, as their maker has throughout."""
    empty = [file for file in _DYNAMIC_MEMORY.glob("PostgreSQL.*") if _is_empty(file, uid)]
    used = _in_use() if empty else frozenset()
    for file in empty:
        if str(file) not in used:
            file.unlink(missing_ok=True)


def _is_empty(file: Path, uid: int) -> bool:
    try:
        status = file.stat()
        mine = status.st_uid == uid and status.st_size <= _CONTROL_BYTES_MAX
        return mine and not any(file.read_bytes())
    except OSError:  # Gone meanwhile.
        return False


def _in_use() -> frozenset[str]:
    """Files under /dev/shm that a process has open or mapped."""
    used: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text(errors="replace")
            used |= {line[line.index("/") :] for line in maps.splitlines() if "/dev/shm/" in line}
            opened = list((process / "fd").iterdir())
        except OSError:  # It has ended, or is somebody else's.
            continue
        for file in opened:
            with suppress(OSError):  # Closed meanwhile.
                used.add(str(file.readlink()))
    return frozenset(used)


def _is_header(address: int, size: int) -> bool:
    """Whether it is PostgreSQL's, or what a postmaster leaves that was killed before it could write
    its header: as large as that, and empty."""
    if _word(address, 0) == _POSTGRES_MEMORY_MARK:
        return True
    return size == _POSTGRES_HEADER_BYTES and not any(ctypes.string_at(address, size))


def _is_gone(pid: int) -> bool:
    """Whether a process has ended, also if nobody has reaped it: process 1, to which those go whose
    parents have died, may take its time, and in many containers it never reaps."""
    place = Path("/proc", str(pid))
    try:
        state = (place / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return not place.exists()
    return state in _ENDED


def _sysv_table(name: str, *columns: str) -> Sequence[tuple[int, ...]]:
    try:
        head, *rows = Path("/proc/sysvipc", name).read_text().splitlines()
    except OSError:
        return []
    places = [head.split().index(column) for column in columns]
    return [tuple(int(row.split()[place]) for place in places) for row in rows]


@contextmanager
def _attached(segment: int) -> Iterator[int | None]:
    """Where the segment lies in our memory, to be read; `None` if it can't be had."""
    address = _libc.shmat(segment, None, _SHM_READ_ONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        yield None
        return
    try:
        yield int(address)
    finally:
        _libc.shmdt(address)


def _word(address: int, offset: int) -> int:
    return ctypes.c_uint32.from_address(address + offset).value


def _remove_segment(segment: int) -> None:
    """With PostgreSQL's segments under /dev/shm that its header leads to, if it has any."""
    with _attached(segment) as address:
        control_name = None if address is None else _word(address, _POSTGRES_DSM_CONTROL_OFFSET)
    if control_name:
        _remove_dynamic_memory(_DYNAMIC_MEMORY / f"PostgreSQL.{control_name}")
    _libc.shmctl(segment, _IPC_RMID, None)


def _remove_dynamic_memory(control: Path) -> None:
    if not control.exists():
        return
    words = set(memoryview(control.read_bytes()).cast("I"))
    for candidate in control.parent.glob("PostgreSQL.*"):
        if int(candidate.suffix[1:]) in words:
            candidate.unlink(missing_ok=True)
    control.unlink(missing_ok=True)
