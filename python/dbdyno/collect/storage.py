"""Facts of the place where a run's data lies: file system, mount options, devices below."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.collect.tree import Tree

_QUEUE = (
    "scheduler",
    "rotational",
    "write_cache",
    "fua",
    "nr_requests",
    "read_ahead_kb",
    "max_sectors_kb",
    "nomerges",
    "wbt_lat_usec",
    "logical_block_size",
    "physical_block_size",
    "discard_granularity",
)
_STACK_LIMIT = 8
"""How deep LUKS on LVM on RAID … is followed."""
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: str
    """Major and minor number, `254:0`."""
    point: str
    root: str
    options: str
    """Of the mount and of the file system."""
    kind: str
    source: str


def mounts(tree: Tree) -> Sequence[Mount]:
    """Every mount that this process sees, in mount order."""
    mounted = []
    for line in (tree.text("proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        _, _, device, root, point, options, *_ = left.split()
        kind, source, super_options = right.split(maxsplit=2)
        together = dict.fromkeys((*options.split(","), *super_options.split(",")))
        mounted.append(
            Mount(device, _plain(point), _plain(root), ",".join(together), kind, _plain(source))
        )
    return mounted


def storage(tree: Tree, folder: Path) -> Mapping[str, object]:
    """What lies under a folder; the folder's own name is not a fact."""
    mount = mount_of(tree, folder)
    if mount is None:
        return {}
    size = os.statvfs(folder)
    return {
        "file_system": mount.kind,
        "source": mount.source,
        "mount_options": mount.options,
        "size_bytes": size.f_frsize * size.f_blocks,
        "devices": _devices(tree, mount.device),
    }


def storage_now(folder: Path) -> Mapping[str, object]:
    """How full it is."""
    size = os.statvfs(folder)
    used = size.f_blocks - size.f_bfree
    usable = used + size.f_bavail
    return {
        "free_bytes": size.f_frsize * size.f_bavail,
        "used_percent": round(100 * used / usable, 1) if usable else None,
    }


def mount_of(tree: Tree, folder: Path) -> Mount | None:
    """The mount a folder lies on; of several at one point the last hides the others."""
    resolved = folder.resolve()
    best: Mount | None = None
    for mount in mounts(tree):
        fits = resolved.is_relative_to(mount.point)
        if fits and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _devices(tree: Tree, number: str) -> Sequence[Mapping[str, object]]:
    """The block device and those it is made of, outermost first; none for tmpfs and the like."""
    start = tree.path(f"sys/dev/block/{number}")
    if not start.exists():
        return []
    devices: list[Mapping[str, object]] = []
    layer = [start.resolve()]
    for _ in range(_STACK_LIMIT):
        devices += [_device(path) for path in layer]
        layer = [slave.resolve() for path in layer for slave in sorted(path.glob("slaves/*"))]
    return devices


def _device(path: Path) -> Mapping[str, object]:
    disk = path if (path / "queue").exists() else path.parent
    sysfs = Tree(disk)
    facts: dict[str, object] = {
        "name": path.name,
        "model": sysfs.text("device/model"),
        "firmware": sysfs.text("device/firmware_rev") or sysfs.text("device/rev"),
        "size_bytes": (Tree(path).number("size") or 0) * 512,
        "start_sector": Tree(path).number("start"),
    }
    facts.update({name: sysfs.chosen(f"queue/{name}") for name in _QUEUE})
    return facts


def _plain(text: str) -> str:
    """Without the kernel's octal escapes for spaces."""
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), text)
