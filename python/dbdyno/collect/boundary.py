"""Facts of what holds this process in: control groups of both versions, limits, containers."""

import resource
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from dbdyno.collect.storage import mounts
from dbdyno.collect.tree import Tree

_FILES: Mapping[str, Sequence[str]] = {
    "": (
        "cpu.max",
        "cpu.weight",
        "cpuset.cpus.effective",
        "memory.max",
        "memory.high",
        "memory.swap.max",
        "pids.max",
        "io.max",
    ),
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"),
    "cpuset": ("cpuset.cpus", "cpuset.mems"),
    "memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    "pids": ("pids.max",),
    "blkio": (
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
    ),
}
"""Limits by controller of version 1; version 2, where all are in one folder, has no name."""
_NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as a number about the size of the address space."""
_LIMITS = {
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "locked_memory_bytes": resource.RLIMIT_MEMLOCK,
    "core_bytes": resource.RLIMIT_CORE,
    "stack_bytes": resource.RLIMIT_STACK,
}
_KERNEL_LIMITS = (
    "fs/file-max",
    "fs/nr_open",
    "fs/aio-max-nr",
    "vm/max_map_count",
    "kernel/shmmax",
    "kernel/shmall",
    "kernel/sem",
    "kernel/pid_max",
    "kernel/threads-max",
)


def control_groups(tree: Tree) -> Mapping[str, object]:
    """The tightest limits on the way from our groups to the root.

    `cpus` is processor time as a number of processors, `memory_bytes` what we may fill; `None`
    where nothing is set. `files` holds what is set nearest to us, as the kernel writes it.
    """
    files: dict[str, str] = {}
    quotas: list[float] = []
    memory: list[int] = []
    for group in _groups(tree):
        files = {**group, **files}
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (text := group.get(name, "")).isdigit() and int(text) < _NO_LIMIT:
                memory.append(int(text))
        quota, _, period = group.get("cpu.max", "").partition(" ")
        if not quota:
            quota, period = group.get("cpu.cfs_quota_us", ""), group.get("cpu.cfs_period_us", "")
        if quota.isdigit() and period:
            quotas.append(int(quota) / int(period))
    return {
        "version": _version(tree),
        "cpus": min(quotas, default=None),
        "memory_bytes": min(memory, default=None),
        "files": files,
    }


def _version(tree: Tree) -> str | None:
    kinds = {mount.kind for mount in mounts(tree)} & {"cgroup", "cgroup2"}
    names = {"cgroup": "1", "cgroup2": "2"}
    return " and ".join(sorted(names[kind] for kind in kinds)) or None


def _groups(tree: Tree) -> Iterator[Mapping[str, str]]:
    """Limit files of our groups by name, own group first, then its parents."""
    places = {mount.kind + _controller(mount.options): mount for mount in mounts(tree)}
    for line in (tree.text("proc/self/cgroup") or "").splitlines():
        _, controllers, group = line.split(":", 2)
        known = [c for c in controllers.split(",") if c and c in _FILES]
        for controller in known if controllers else [""]:
            mount = places.get(f"cgroup{controller}" if controller else "cgroup2")
            if mount is None:
                continue
            # In a container the mount's root is our group: what lies above can't be seen.
            inside = PurePosixPath(group)
            if inside.is_relative_to(mount.root):
                inside = "/" / inside.relative_to(mount.root)
            for folder in (inside, *inside.parents):
                base = f"{mount.point}{folder}".strip("/")
                texts = {name: tree.text(f"{base}/{name}") for name in _FILES[controller]}
                yield {name: text for name, text in texts.items() if text}


def _controller(options: str) -> str:
    """The version 1 controller a mount is for; nothing for version 2."""
    return next((word for word in options.split(",") if word and word in _FILES), "")


def limits(tree: Tree) -> Mapping[str, object]:
    """Soft and hard limits of this process (`None`: unlimited), and the kernel's own."""
    own: dict[str, object] = {}
    for name, number in _LIMITS.items():
        values = resource.getrlimit(number)
        own[name] = [None if value == resource.RLIM_INFINITY else value for value in values]
    return {**own, **{name: tree.text(f"proc/sys/{name}") for name in _KERNEL_LIMITS}}


def virtualisation(tree: Tree) -> Mapping[str, object]:
    """Whether this is a virtual machine or a container, as far as it lets itself be seen."""
    flags = tree.fields("proc/cpuinfo").get("flags", "").split()
    return {
        "virtual_machine": "hypervisor" in flags,
        "hypervisor": tree.text("sys/hypervisor/type"),
        "vendor": tree.text("sys/class/dmi/id/sys_vendor"),
        "product": tree.text("sys/class/dmi/id/product_name"),
        "container": _container(tree),
    }


def _container(tree: Tree) -> str | None:
    if named := tree.text("run/systemd/container"):
        return named
    if tree.path("run/.containerenv").exists():
        return "podman"
    if tree.path(".dockerenv").exists():
        return "docker"
    return None
