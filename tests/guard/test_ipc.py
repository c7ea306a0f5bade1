"""Shared memory that dead servers leave: PostgreSQL's goes, somebody else's stays."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from pathlib import Path

from dbdyno.guard.ipc import remove_dead_ipc

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
POSTGRES, OTHER = 679834894, 1
_IPC_RMID = 0


def left_by_a_dead_process(mark: int) -> int:
    """A segment whose maker has ended; its first word says who uses it so."""
    context = multiprocessing.get_context("fork")
    made: multiprocessing.SimpleQueue[int] = context.SimpleQueue()
    maker = context.Process(target=lambda: made.put(new_segment(mark)))
    maker.start()
    segment = made.get()
    maker.join()
    return segment


def new_segment(mark: int) -> int:
    segment: int = _libc.shmget(0, 4096, 0o1600)
    address = ctypes.c_void_p(_libc.shmat(segment, None, 0))
    assert address.value is not None
    ctypes.c_uint32.from_address(address.value).value = mark
    _libc.shmdt(address)
    return segment


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
    segment = new_segment(POSTGRES)
    try:
        remove_dead_ipc(os.geteuid())

        assert segment in segments()
    finally:
        _libc.shmctl(segment, _IPC_RMID, None)
