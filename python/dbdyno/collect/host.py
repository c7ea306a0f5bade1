"""Facts of the host, read from /proc, /sys and psutil, as plain data for `facts.json`.

Everything that changes by itself stands under `now`; the rest stays until somebody changes the
machine. Nothing here needs root: what can't be seen is `None`.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from dbdyno.collect.boundary import control_groups, limits, virtualisation
from dbdyno.collect.processor import processor, processor_now
from dbdyno.collect.storage import storage, storage_now
from dbdyno.collect.tree import Tree

MACHINE_GROUPS = (
    "control_groups",
    "kernel",
    "limits",
    "memory",
    "network",
    "processor",
    "storage",
    "virtualisation",
)
"""What the environment id is made of. Python's libraries are not: they don't change a number."""

_LOOP_DEVICE = re.compile(r"\bloop\d+")

_VM_SETTINGS = (
    "swappiness",
    "overcommit_memory",
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_ratio",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
    "min_free_kbytes",
    "nr_hugepages",
    "zone_reclaim_mode",
)
_KERNEL_SETTINGS = (
    "kernel/numa_balancing",
    "kernel/perf_event_paranoid",
    "kernel/randomize_va_space",
    "kernel/sched_autogroup_enabled",
    "kernel/io_uring_disabled",
)
_NETWORK_SETTINGS = (
    "core/somaxconn",
    "core/busy_poll",
    "core/rmem_max",
    "core/wmem_max",
    "ipv4/ip_local_port_range",
    "ipv4/tcp_autocorking",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_rmem",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_wmem",
)
_SAMPLE_S = 0.5
_BUSY_PERCENT = 1.0


def host_facts(
    data_folder: Path | None = None,
    *,
    tree: Tree | None = None,
    activity: Mapping[str, object] | None = None,
    software: bool = True,
) -> dict[str, object]:
    """All facts. `activity` is what else runs, where it was looked at before; otherwise that is
    done now, and takes half a second.

    `data_folder` is where the run's data lies: with it come the facts of the storage. Without
    `software`, Python and its libraries are left out: looking them up takes as long as all others.
    """
    source = tree or Tree()
    return {
        "processor": processor(source),
        "memory": _memory(source),
        "kernel": _kernel(source),
        "network": {name: source.text(f"proc/sys/net/{name}") for name in _NETWORK_SETTINGS},
        "limits": limits(source),
        "control_groups": control_groups(source),
        "virtualisation": virtualisation(source),
        "storage": storage(source, data_folder) if data_folder else {},
        **({"software": _software()} if software else {}),
        "now": {**_now(source, data_folder), **(activity_now() if activity is None else activity)},
    }


def environment_id(facts: Mapping[str, object]) -> str:
    """Sixteen hexadecimal digits that two runs share if nothing about their machine differs.

    Which loop device an image got is chance and not in them.
    """
    stable = {group: facts.get(group) for group in MACHINE_GROUPS}
    text = _LOOP_DEVICE.sub("loop", json.dumps(stable, sort_keys=True, separators=(",", ":")))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _memory(tree: Tree) -> Mapping[str, object]:
    info = tree.fields("proc/meminfo")
    huge = "sys/kernel/mm/transparent_hugepage"
    return {
        "total_bytes": _bytes(info.get("MemTotal")),
        "swap_bytes": _bytes(info.get("SwapTotal")),
        "huge_page_bytes": _bytes(info.get("Hugepagesize")),
        "numa_nodes": len(tree.glob("sys/devices/system/node/node[0-9]*")) or None,
        "transparent_huge_pages": tree.chosen(f"{huge}/enabled"),
        "transparent_huge_pages_defrag": tree.chosen(f"{huge}/defrag"),
        "same_page_merging": tree.number("sys/kernel/mm/ksm/run"),
        "compressed_swap": tree.text("sys/module/zswap/parameters/enabled"),
        **{name: tree.number(f"proc/sys/vm/{name}") for name in _VM_SETTINGS},
    }


def _kernel(tree: Tree) -> Mapping[str, object]:
    clock = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    release = dict(
        line.split("=", 1)
        for line in (tree.text("etc/os-release") or "").splitlines()
        if "=" in line
    )
    return {
        "release": tree.text("proc/sys/kernel/osrelease"),
        "version": tree.text("proc/sys/kernel/version"),
        # What follows the two dashes is for init.
        "command_line": (tree.text("proc/cmdline") or "").partition(" -- ")[0] or None,
        "distribution": release.get("PRETTY_NAME", "").strip('"') or None,
        "clock_source": tree.text(clock),
        "scheduler_extension": tree.text("sys/kernel/sched_ext/root/ops"),
        "security_modules": tree.text("sys/kernel/security/lsm"),
        **{name: tree.number(f"proc/sys/{name}") for name in _KERNEL_SETTINGS},
    }


def _software() -> Mapping[str, object]:
    import ssl

    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "libc": " ".join(platform.libc_ver()),
        "openssl": ssl.OPENSSL_VERSION,
        "libraries": {name: _library_version(name) for name in _libraries()},
    }


def _libraries() -> Sequence[str]:
    """Names of what our own distribution asks for; none when it is not installed."""
    from importlib import metadata

    try:
        wanted = metadata.requires("dbdyno") or []
    except metadata.PackageNotFoundError:
        return []
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted if "extra ==" not in line]
    return sorted({"dbdyno", *names})


def _library_version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _now(tree: Tree, data_folder: Path | None) -> Mapping[str, object]:
    info = tree.fields("proc/meminfo")
    load = (tree.text("proc/loadavg") or "").split()[:3]
    uptime = (tree.text("proc/uptime") or "").split()[:1]
    total, free = _bytes(info.get("SwapTotal")), _bytes(info.get("SwapFree"))
    return {
        "load_average": [float(value) for value in load],
        "uptime_s": float(uptime[0]) if uptime else None,
        "memory_available_bytes": _bytes(info.get("MemAvailable")),
        "swap_used_bytes": total - free if total is not None and free is not None else None,
        "processor": processor_now(tree),
        "storage": storage_now(data_folder) if data_folder else {},
        "on_battery": _on_battery(),
    }


def _on_battery() -> bool | None:
    """Whether the machine runs on its battery; `None` when it has none."""
    battery = psutil.sensors_battery()
    return None if battery is None or battery.power_plugged is None else not battery.power_plugged


def activity_now() -> Mapping[str, object]:
    """What else ran during half a second: processes above 1 % of one processor, and the share of
    processor time the hypervisor kept."""
    watched = []
    for process in psutil.process_iter():
        try:
            process.cpu_percent()
            watched.append(process)
        except psutil.Error:
            continue
    times = psutil.cpu_times_percent(_SAMPLE_S)
    busy: list[tuple[float, str]] = []
    own = psutil.Process().pid
    for process in watched:
        try:
            percent = process.cpu_percent()
            if percent > _BUSY_PERCENT and process.pid != own:
                busy.append((percent, process.name()))
        except psutil.Error:
            continue
    return {
        "steal_percent": getattr(times, "steal", None),
        "busy_processes": [
            {"name": name, "processor_percent": percent}
            for percent, name in sorted(busy, reverse=True)
        ],
    }


def _bytes(text: str | None) -> int | None:
    """A value of /proc/meminfo."""
    if not text:
        return None
    number, _, unit = text.partition(" ")
    return int(number) * (1024 if unit == "kB" else 1)
