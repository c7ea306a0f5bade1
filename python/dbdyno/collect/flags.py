"""Red flags: what in the facts of host and server distorts measurements, and a hint what to do."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")
_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")
_REMOTE_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "ceph")
_LAYERED_FILE_SYSTEMS = ("overlay", "aufs", "zfs", "btrfs")
_FULL_PERCENT = 85
_BUSY_PERCENT = 10
_STEAL_PERCENT = 1
_FEW_OPEN_FILES = 4096


@dataclass(frozen=True, slots=True)
class RedFlag:
    """One thing the reader of a number must know."""

    code: str
    message: str
    hint: str


_ON_PURPOSE = {"huge-pages": "transparent_hugepages"}
"""Flag → the host factor that makes it what the study asked for."""


def red_flags(
    host: Mapping[str, Any],
    server: Mapping[str, Any] | None = None,
    *,
    asked: Collection[str] = (),
) -> list[RedFlag]:
    """The flags of a host's facts (`host_facts`) and, if given, of a server's (`Server.facts`).

    `asked`: host factors that are set; what they set is no surprise.
    """
    rules: Sequence[Callable[[Mapping[str, Any]], Iterator[RedFlag]]] = (
        _processor,
        _memory,
        _storage,
        _boundary,
        _noise,
    )
    flags = [
        flag for rule in rules for flag in rule(host) if _ON_PURPOSE.get(flag.code) not in asked
    ]
    return [*flags, *_server(server)] if server else flags


def _processor(host: Mapping[str, Any]) -> Iterator[RedFlag]:
    processor, clock = host["processor"], host["kernel"]["clock_source"]
    governor = processor["governor"]
    # Drivers that leave clocking to the hardware call their normal mode powersave too.
    by_hardware = processor["driver"] in ("intel_pstate", "amd-pstate-epp")
    if governor not in (None, "performance") and not by_hardware:
        yield RedFlag(
            "governor",
            f"the processor's clock follows the load (governor `{governor}`)",
            "`cpupower frequency-set --governor performance`",
        )
    if processor["energy_preference"] in ("power", "balance_power"):
        yield RedFlag(
            "energy-preference",
            f"the processor saves energy (preference `{processor['energy_preference']}`)",
            "`cpupower set --epp performance`",
        )
    if clock in _SLOW_CLOCKS:
        yield RedFlag(
            "clock-source",
            f"reading the clock is slow here (clock source `{clock}`)",
            "write `tsc` to /sys/devices/system/clocksource/clocksource0/current_clocksource "
            "if that is among the available ones",
        )
    if len(processor["allowed"]) < (processor["threads"] or 0):
        yield RedFlag(
            "affinity",
            f"only {len(processor['allowed'])} of {processor['threads']} processors may be used",
            "start dbdyno without `taskset`, or say so in the study",
        )


def _memory(host: Mapping[str, Any]) -> Iterator[RedFlag]:
    if host["memory"]["transparent_huge_pages"] == "always":
        yield RedFlag(
            "huge-pages",
            "transparent huge pages are forced on everything: pauses while memory is compacted",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        )
    if used := host["now"]["swap_used_bytes"]:
        yield RedFlag(
            "swap",
            f"{used / 2**20:.0f} MiB are swapped out",
            "free memory, then `swapoff --all && swapon --all`",
        )


def _storage(host: Mapping[str, Any]) -> Iterator[RedFlag]:
    kind = host["storage"].get("file_system")
    if kind in _MEMORY_FILE_SYSTEMS:
        yield RedFlag(
            "data-in-memory",
            f"the data lies in memory ({kind}): nothing is ever written to a disk",
            "put the store, or DBDYNO_DATA, on a disk",
        )
    if kind in _REMOTE_FILE_SYSTEMS:
        yield RedFlag(
            "data-remote",
            f"the data lies on a file system of another machine ({kind})",
            "put the store, or DBDYNO_DATA, on a local disk",
        )
    if kind in _LAYERED_FILE_SYSTEMS:
        yield RedFlag(
            "file-system",
            f"the data lies on {kind}, which copies what is overwritten",
            "put the store, or DBDYNO_DATA, on ext4 or xfs, or say so beside the numbers",
        )
    used = host["now"]["storage"].get("used_percent")
    if used is not None and used > _FULL_PERCENT:
        yield RedFlag(
            "disk-full",
            f"the file system of the data is {used} % full: writes slow down",
            "make room, or put DBDYNO_DATA elsewhere",
        )
    rotating = any(d["rotational"] == "1" for d in host["storage"].get("devices", ()))
    # A virtual disk says so of itself by default, whatever is below.
    if rotating and not host["virtualisation"]["virtual_machine"]:
        yield RedFlag(
            "rotating-disk", "the data lies on a rotating disk", "put DBDYNO_DATA on flash"
        )


def _boundary(host: Mapping[str, Any]) -> Iterator[RedFlag]:
    groups = host["control_groups"]
    threads = host["processor"]["threads"] or 0
    if groups["cpus"] is not None and groups["cpus"] < threads:
        yield RedFlag(
            "cpu-quota",
            f"a control group allows {groups['cpus']:g} of {threads} processors' time: work stops "
            "when the quota of a period is used up",
            "run outside that group, or raise its cpu.max",
        )
    memory, total = groups["memory_bytes"], host["memory"]["total_bytes"]
    if memory is not None and total is not None and memory < total:
        yield RedFlag(
            "memory-limit",
            f"a control group allows {memory / 2**30:.1f} of {total / 2**30:.1f} GiB, page cache "
            "included",
            "run outside that group, or raise its memory.max",
        )
    if host["virtualisation"]["virtual_machine"]:
        yield RedFlag(
            "virtual-machine",
            "this is a virtual machine: what its neighbours do can't be seen",
            "compare within interleaved blocks only; repeat on hardware for absolute numbers",
        )
    soft, hard = host["limits"]["open_files"]
    if soft is not None and soft < _FEW_OPEN_FILES:
        yield RedFlag(
            "open-files",
            f"a process may open {soft} files, which limits its connections to slightly fewer",
            f"`ulimit -n {hard or 'unlimited'}`",
        )


def _noise(host: Mapping[str, Any]) -> Iterator[RedFlag]:
    now = host["now"]
    busy = [p for p in now["busy_processes"] if p["processor_percent"] > _BUSY_PERCENT]
    if busy:
        listed = ", ".join(f"{p['name']} {p['processor_percent']:.0f} %" for p in busy[:3])
        yield RedFlag(
            "busy",
            f"other processes are at work: {listed}",
            "stop them and run again; with `[host] precedence` they disturb less",
        )
    if (now["steal_percent"] or 0) > _STEAL_PERCENT:
        yield RedFlag(
            "steal",
            f"the hypervisor keeps {now['steal_percent']} % of the processor time for others",
            "take a machine with processors of its own",
        )
    if now["on_battery"]:
        yield RedFlag("battery", "the machine runs on its battery", "plug it in")
    if now["processor"]["throttled"]:
        yield RedFlag(
            "throttled",
            f"the processor was too hot {now['processor']['throttled']} times since it started",
            "cool it, or lower the load",
        )


def _server(server: Mapping[str, Any]) -> Iterator[RedFlag]:
    if server.get("debug_assertions") == "on":
        yield RedFlag("debug-build", "the server is a debug build", "take a release build")
    durability = server.get("durability")
    if durability == "D0":
        yield RedFlag(
            "durability",
            "durability D0: a crash may lose or tear the data",
            "compare with other D0 numbers only",
        )
    if durability == "D1":
        yield RedFlag(
            "durability",
            "durability D1: a crash loses the last commits",
            "compare with other D1 numbers only",
        )
