"""Shared memory that dead servers leave: PostgreSQL's goes, somebody else's stays."""

from __future__ import annotations

import ctypes
import mmap
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.guard.ipc import remove_dead_ipc

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
POSTGRES, OTHER = 679834894, 1
SEMAPHORES_OF_POSTGRES = 537
_IPC_RMID = 0
_SEM_SETVAL = 16


def left_by_a_dead_process(mark: int, make: Callable[[int], int]) -> int:
    """A segment, or what else is made, whose maker has ended; `mark` says who uses it so."""
    with left_by_a_zombie(mark, make) as made:
        pass
    return made


@contextmanager
def left_by_a_zombie(mark: int, make: Callable[[int], int]) -> Iterator[int]:
    """The same; the maker is reaped at the end of the block."""
    context = multiprocessing.get_context("fork")
    made: multiprocessing.SimpleQueue[int] = context.SimpleQueue()
    maker = context.Process(target=lambda: made.put(make(mark)))
    maker.start()
    assert maker.pid is not None
    segment = made.get()
    os.waitid(os.P_PID, maker.pid, os.WEXITED | os.WNOWAIT)
    try:
        yield segment
    finally:
        maker.join()


def new_segment(mark: int) -> int:
    segment: int = _libc.shmget(0, 4096, 0o1600)
    address = ctypes.c_void_p(_libc.shmat(segment, None, 0))
    assert address.value is not None
    ctypes.c_uint32.from_address(address.value).value = mark
    _libc.shmdt(address)
    return segment


def new_header(mark: int) -> int:
    """As large as PostgreSQL's on 64 bits."""
    segment: int = _libc.shmget(0, 56, 0o1600)
    address = ctypes.c_void_p(_libc.shmat(segment, None, 0))
    assert address.value is not None
    ctypes.c_uint32.from_address(address.value + 52).value = mark
    _libc.shmdt(address)
    return segment


def new_semaphores(mark: int) -> int:
    semaphores: int = _libc.semget(0, 2, 0o1600)
    assert _libc.semctl(semaphores, 1, _SEM_SETVAL, mark) == 0
    return semaphores


def semaphore_sets() -> list[int]:
    return [int(row.split()[1]) for row in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]]


def segments() -> list[int]:
    head, *rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    place = head.split().index("shmid")
    return [int(row.split()[place]) for row in rows]


def test_memory_of_a_postmaster_that_was_killed_as_it_made_it_goes() -> None:
    empty = left_by_a_dead_process(0, new_header)
    others = left_by_a_dead_process(OTHER, new_header), left_by_a_dead_process(0, new_segment)
    try:
        remove_dead_ipc(os.geteuid())

        assert empty not in segments()
        assert set(others) <= set(segments())
    finally:
        for segment in others:
            _libc.shmctl(segment, _IPC_RMID, None)


def test_memory_of_a_dead_postgresql_goes_and_other_memory_stays() -> None:
    ours, others = (
        left_by_a_dead_process(POSTGRES, new_segment),
        left_by_a_dead_process(OTHER, new_segment),
    )
    try:
        remove_dead_ipc(os.geteuid())

        assert ours not in segments()
        assert others in segments()
    finally:
        _libc.shmctl(others, _IPC_RMID, None)


@contextmanager
def control_segment(content: bytes) -> Iterator[Path]:
    """Named like PostgreSQL's, by a number that no server draws: they draw even ones."""
    file = Path("/dev/shm", f"PostgreSQL.{2 * os.getpid() + 1}")
    file.write_bytes(content)
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def test_a_control_segment_that_was_never_filled_goes() -> None:
    with control_segment(bytes(66_976)) as file:
        remove_dead_ipc(os.geteuid())

        assert not file.exists()


def test_a_control_segment_that_is_open_mapped_or_filled_stays() -> None:
    with control_segment(bytes(66_976)) as file, file.open("rb") as opened:
        remove_dead_ipc(os.geteuid())
        assert file.exists()
        with mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ):
            remove_dead_ipc(os.geteuid())
            assert file.exists()
    with control_segment(b"\x32\x3d\x50\x9a" + bytes(66_972)) as file:
        remove_dead_ipc(os.geteuid())
        assert file.exists()


def test_memory_of_another_account_stays() -> None:
    segment = left_by_a_dead_process(POSTGRES, new_segment)
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


def test_memory_of_a_postgresql_that_nobody_has_reaped_goes() -> None:
    with left_by_a_zombie(POSTGRES, new_segment) as segment:
        assert segment in segments()

        remove_dead_ipc(os.geteuid())

        assert segment not in segments()


def test_semaphores_of_a_dead_postgresql_go_and_others_stay() -> None:
    ours = left_by_a_dead_process(SEMAPHORES_OF_POSTGRES, new_semaphores)
    others = left_by_a_dead_process(OTHER, new_semaphores)
    living = new_semaphores(SEMAPHORES_OF_POSTGRES)
    try:
        remove_dead_ipc(os.geteuid())

        assert ours not in semaphore_sets()
        assert {others, living} <= set(semaphore_sets())
    finally:
        _libc.semctl(others, 0, _IPC_RMID)
        _libc.semctl(living, 0, _IPC_RMID)
