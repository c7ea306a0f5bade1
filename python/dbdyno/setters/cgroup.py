"""Control groups of both versions: where one can be made, and the names of its files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A place where a group with a controller can be made."""

    version: int
    parent: Path


def find_hierarchy(controller: str, root: Path = Path("/")) -> Hierarchy | None:
    """Where a group with this controller (`cpu`, `memory`) can be made: in version 1 below our own
    group; in version 2 below the nearest that delegates the controller, since a group with
    processes can't. `root` stands for / in tests."""
    ours = dict(_own_groups(root))
    for version, controllers, place, top in _mounts(root):
        if version == 1 and controller in controllers and controller in ours:
            return Hierarchy(1, _inside(root, place, top, ours[controller]))
        if version == 2 and "" in ours:
            group = _inside(root, place, top, ours[""])
            for parent in (group, *group.parents):
                if controller in _words(parent / "cgroup.subtree_control"):
                    return Hierarchy(2, parent)
    return None


def _own_groups(root: Path) -> Iterator[tuple[str, str]]:
    """Controller → our group's path; version 2 has the empty name."""
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _mounts(root: Path) -> Iterator[tuple[int, set[str], str, str]]:
    """Version, options (in version 1 including controllers), mount point and the group mounted
    there."""
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        fields, _, source = line.partition(" - ")
        kind, _, options = source.split()
        if kind in ("cgroup", "cgroup2"):
            top, place = fields.split()[3:5]
            yield (1 if kind == "cgroup" else 2), set(options.split(",")), place, top


def _inside(root: Path, place: str, top: str, group: str) -> Path:
    """Our group's folder; the mount point if our group lies outside of it."""
    inner = group.removeprefix(top.rstrip("/")) if group.startswith(top.rstrip("/")) else ""
    return root / place.lstrip("/") / inner.strip("/")


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
