"""What a run could leave on a machine, and waiting for processes to be gone."""

import contextlib
import fcntl
import os
import re
import select
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.guard import sweep
from dbdyno.guard.family import children_of
from dbdyno.guard.journal import state_folder
from dbdyno.guard.locked_folder import LOCK_NAME
from dbdyno.servers import Server
from dbdyno.setters.links import PREFIX

LIMIT_S = 120
GUARDED = re.compile(r"dbdyno-[a-z0-9_]{8}")
"""How folders are named that a guard makes for data."""


def left_behind() -> frozenset[str]:
    """Temporary folders, shared memory, semaphores, mounts, loop devices, control groups, named
    network namespaces, links and journals whose makers are gone.

    What belongs to a living process is not counted: others may use dbdyno on this machine.
    """
    found = set()
    for parent in sweep.temporary_parents():
        found |= {str(folder) for folder in parent.glob("dbdyno-*") if is_abandoned(folder)}
    mapped = "".join(maps for maps in map(read_maps, Path("/proc").glob("[0-9]*/maps")))
    found |= {
        str(path) for path in Path("/dev/shm").glob("PostgreSQL.*") if str(path) not in mapped
    }
    head, *rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    identifier, creator = head.split().index("shmid"), head.split().index("cpid")
    for fields in map(str.split, rows):
        if not Path("/proc", fields[creator]).exists():
            found.add(f"shared memory {fields[identifier]}")
    for row in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]:
        found.add(f"semaphores {row.split()[1]}")
    return frozenset(
        found | set(left_mounts()) | set(left_links()) | set(left_groups()) | set(left_journals())
    )


def left_mounts() -> Iterator[str]:
    """Mounts and loop devices in folders whose guard is gone, and network namespaces."""
    mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    backing = [
        file.read_text().strip() for file in Path("/sys/block").glob("loop*/loop/backing_file")
    ]
    for path in (*mounted, *backing):
        holder = Path(path.removesuffix(" (deleted)")).parent
        lock = holder / LOCK_NAME
        if holder.name.startswith("dbdyno-") and (not lock.exists() or is_free(lock)):
            yield f"mount or loop device of {path}"
    yield from (f"namespace {path}" for path in Path("/run/netns").glob("dbdyno*"))


def left_links() -> Iterator[str]:
    """Ends of links that are named after the process that asked for them."""
    for device in Path("/sys/class/net").glob(f"{PREFIX}*"):
        maker = device.name.split("-")[1]
        if maker == str(os.getpid()) or not Path("/proc", maker).exists():
            yield f"link {device.name}"


def left_groups() -> Iterator[str]:
    """Control groups are named after the process that asked for them."""
    for group in Path("/sys/fs/cgroup").rglob("dbdyno-*"):
        maker = group.name.split("-")[1]
        if maker == str(os.getpid()) or not Path("/proc", maker).exists():
            yield str(group)


def left_journals() -> Iterator[str]:
    """Of guards that are gone."""
    return (str(file) for file in state_folder().glob("*.journal") if is_free(file))


def is_abandoned(folder: Path) -> bool:
    """Whether its guard is gone, or it has a guard's name and no lock, so that no clean-up would
    ever find it."""
    lock = folder / LOCK_NAME
    if lock.exists():
        return is_free(lock)
    return GUARDED.fullmatch(folder.name) is not None and folder.is_dir()


def is_free(lock: Path) -> bool:
    """Whether the guard of a folder is gone."""
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return False
    return True


def read_maps(path: Path) -> str:
    """What a process has in its memory; nothing when it is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""


@contextlib.contextmanager
def no_trace() -> Iterator[None]:
    """Fails when the block leaves anything behind that was not there before."""
    before = left_behind()
    yield
    deadline = time.monotonic() + LIMIT_S
    while more := left_behind() - before:
        assert time.monotonic() < deadline, f"left behind: {sorted(more)}"


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """Fails when the block leaves a process of ours, or any other trace."""
    processes = set(children_of(os.getpid()))
    with no_trace():
        yield
    assert set(children_of(os.getpid())) <= processes


def descendants(pid: int) -> Sequence[int]:
    """All processes below one, itself included."""
    return [pid, *(below for child in children_of(pid) for below in descendants(child))]


def wait_until_gone(pids: Sequence[int]) -> None:
    """Returns when none of the processes runs; fails after a while."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([descriptor], [], [], LIMIT_S)
        finally:
            os.close(descriptor)
        assert ready, f"process {pid} still runs: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"


def wait_until_dead(server: Server) -> None:
    """Returns when a server says that it no longer runs; fails after a while."""
    deadline = time.monotonic() + LIMIT_S
    while server.alive():
        assert time.monotonic() < deadline
