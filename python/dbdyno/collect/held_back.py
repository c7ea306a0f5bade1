"""How long a limit of processor time, a container's or a service's, kept the lab from running.

The limits that a study sets are on other control groups than the lab's, and do not count here.
"""

from __future__ import annotations

from collections.abc import Callable

from dbdyno.collect.sources.cgroup import group_folders, throttled_s, words_of
from dbdyno.collect.tree import Tree


def held_back(tree: Tree | None = None) -> Callable[[], float | None]:
    """A reader of how long the lab's control group has been kept from running so far, seconds
    summed over processors; `None`: the kernel does not say."""
    source = tree or Tree()
    folders = group_folders(source, "self", roots=True)
    folder = folders.get("cpu", folders.get(""))
    if folder is None:
        return lambda: None
    return lambda: throttled_s(words_of(source, f"{folder}/cpu.stat"))
