"""Processes by their parents: who descends from whom, and the end of all of them.

Standard library only, like the guard.
"""

import os
import signal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals by which the kernel ends a program for a fault of its own."""


def children_of(parent: int) -> Sequence[int]:
    """Pids of the living children of a process, zombies included."""
    return [pid for pid, its_parent in _parents().items() if its_parent == parent]


def family_of(pid: int) -> Sequence[int]:
    """A process, those it has made, and theirs, at one look."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    family = [pid]
    for member in family:
        family += children.get(member, ())
    return family


def end_children(but: Collection[int] = ()) -> Sequence[int]:
    """Kills and reaps our children, and theirs, which become ours if we are a subreaper. Those in
    `but` are spared. Returns the pids of the others."""
    ended: list[int] = []
    while children := [pid for pid in children_of(os.getpid()) if pid not in but]:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)
        ended += children
    return ended


def _parents() -> Mapping[int, int]:
    """Pid → its parent's, of all processes."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
    return parents
