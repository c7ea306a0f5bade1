"""Shared memory that dead servers leave: PostgreSQL's goes, somebody else's stays."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from dbdyno.guard.ipc import remove_dead_ipc

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
POSTGRES, OTHER = 679834894, 1
_IPC_RMID = 0


def left_by_a_dead_process(mark: int) -> int:
    """A segment whose maker has ended; its first word says who uses it so."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        segment = _libc.shmget(0, 4096, 0o1600)
        ctypes.c_uint32.from_address(_libc.shmat(segment, None, 0)).value = mark
        os.write(write, str(segment).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return int(os.read(read, 20))


def segments() -> list[int]:
    head, *rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    place = head.split().index("shmid")
    return [int(row.split()[place]) for row in rows]


def test_memory_of_a_dead_postgresql_goes_and_other_memory_stays() -> None:
    ours, others = left_by_a_dead_process(POSTGRES), left_by_a_dead_process(OTHER)
    try:
        remove_dead_ipc(os.geteuid())

        assert ours not in segments()
        assert others in segments()
    finally:
        _libc.shmctl(others, _IPC_RMID, None)


def test_memory_of_another_account_stays() -> None:
    segment = left_by_a_dead_process(POSTGRES)
    try:
        remove_dead_ipc(os.geteuid() + 1)

        assert segment in segments()
    finally:
        _libc.shmctl(segment, _IPC_RMID, None)


def test_memory_whose_maker_lives_stays() -> None:
    segment = _libc.shmget(0, 4096, 0o1600)
    address = _libc.shmat(segment, None, 0)
    ctypes.c_uint32.from_address(address).value = POSTGRES
    _libc.shmdt(ctypes.c_void_p(address))
    try:
        remove_dead_ipc(os.geteuid())

        assert segment in segments()
    finally:
        _libc.shmctl(segment, _IPC_RMID, None)
