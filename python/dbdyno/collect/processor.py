"""Facts of the processor: what it is, how it is clocked, who may use it."""

import os
from collections.abc import Mapping

from dbdyno.collect.tree import Tree

_CPUS = "sys/devices/system/cpu"


def processor(tree: Tree) -> Mapping[str, object]:
    """What stays the same until somebody changes it."""
    info = tree.fields("proc/cpuinfo")
    topology = f"{_CPUS}/cpu[0-9]*/topology"
    cores = {
        (tree.text(str(path)), tree.text(str(path.with_name("core_id"))))
        for path in tree.glob(f"{topology}/physical_package_id")
    }
    return {
        "model": info.get("model name") or info.get("CPU part"),
        "vendor": info.get("vendor_id") or info.get("CPU implementer"),
        "microcode": info.get("microcode"),
        "sockets": len({socket for socket, _ in cores}) or None,
        "cores": len(cores) or None,
        "threads": len(tree.glob(f"{_CPUS}/cpu[0-9]*")) or os.cpu_count(),
        "smt": tree.text(f"{_CPUS}/smt/control"),
        "caches": _caches(tree),
        "base_khz": tree.number(f"{_CPUS}/cpu0/cpufreq/base_frequency"),
        "max_khz": tree.number(f"{_CPUS}/cpu0/cpufreq/cpuinfo_max_freq"),
        "governor": tree.same(f"{_CPUS}/cpu[0-9]*/cpufreq/scaling_governor"),
        "driver": tree.text(f"{_CPUS}/cpu0/cpufreq/scaling_driver"),
        "energy_preference": tree.same(f"{_CPUS}/cpu*/cpufreq/energy_performance_preference"),
        "turbo": _turbo(tree),
        "idle_driver": tree.text(f"{_CPUS}/cpuidle/current_driver"),
        "idle_states": tree.same(f"{_CPUS}/cpu0/cpuidle/state*/name"),
        "isolated": tree.text(f"{_CPUS}/isolated") or None,
        "tickless": tree.text(f"{_CPUS}/nohz_full") or None,
        "allowed": sorted(os.sched_getaffinity(0)),
        "mitigations": {
            path.name: tree.text(str(path)) for path in tree.glob(f"{_CPUS}/vulnerabilities/*")
        },
    }


def processor_now(tree: Tree) -> Mapping[str, object]:
    """What changes by itself."""
    lines = (tree.text("proc/cpuinfo") or "").splitlines()
    clocks = [float(line.rpartition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    throttled = [
        tree.number(str(path)) or 0
        for path in tree.glob(f"{_CPUS}/cpu[0-9]*/thermal_throttle/core_throttle_count")
    ]
    return {"clock_mhz": clocks, "throttled": sum(throttled) if throttled else None}


def _caches(tree: Tree) -> Mapping[str, str | None]:
    """Size by level and type, as the first processor sees them."""
    return {
        f"L{tree.text(str(path / 'level'))} {tree.text(str(path / 'type'))}": tree.text(
            str(path / "size")
        )
        for path in tree.glob(f"{_CPUS}/cpu0/cache/index[0-9]*")
    }


def _turbo(tree: Tree) -> bool | None:
    """Whether clocks above the base are allowed; `None` where the kernel does not tell."""
    if (disabled := tree.number(f"{_CPUS}/intel_pstate/no_turbo")) is not None:
        return disabled == 0
    if (enabled := tree.number(f"{_CPUS}/cpufreq/boost")) is not None:
        return enabled == 1
    return None
