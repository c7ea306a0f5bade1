"""How long a limit of processor time did not let us run: a container's, or a service's.

A study's own limits are those of its cells, and not meant here: they are on groups beside ours.
"""

from __future__ import annotations

from collections.abc import Callable

from dbdyno.collect.sources.cgroup import group_folders
from dbdyno.collect.tree import Tree

_TIMES = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
"""The word of version 2 and of version 1 → seconds."""


def held_back(tree: Tree | None = None) -> Callable[[], float | None]:
    """Reads how long our control group has been held back so far, seconds summed over processors;
    `None`: it is in none, or the kernel does not say."""
    source = tree or Tree()
    folders = group_folders(source, "self", roots=True)
    folder = folders.get("cpu", folders.get(""))

    def read() -> float | None:
        told = None if folder is None else source.text(f"{folder}/cpu.stat")
        for line in (told or "").splitlines():
            word, _, value = line.partition(" ")
            if word in _TIMES and value.isdecimal():
                return int(value) * _TIMES[word]
        return None

    return read
