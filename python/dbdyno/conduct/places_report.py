"""What load hosts have and lack, each lack with a hint; for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.engine import LoadHosts, find_engine
from dbdyno.places import open_cluster

_FEW_FILES = 65_536
_FEW_PORTS = 28_232
_CLOCK_US = 1000.0
"""Limits below, or above, which a host is named as lacking something; ports: the kernel's own
default, clock: where a report begins to doubt."""

_LOOKS = 5
"""Bursts of round trips to each clock."""


@dataclass(frozen=True, slots=True)
class HostReport:
    """A load host: what it has, and (what is wrong, cure) for each lack."""

    name: str
    facts: Mapping[str, object] = field(default_factory=dict)
    clock_ahead_us: float = 0.0
    clock_uncertainty_us: float = 0.0
    lacks: tuple[tuple[str, str], ...] = ()


def inspect_hosts(address: str) -> tuple[HostReport, ...]:
    """Every host of the Ray cluster at `address`. Raises `MachineError` if there is no cluster, or
    a host can't run the engine."""
    engine = find_engine()
    with open_cluster(address, (), engine.path) as cluster:
        hosts = LoadHosts(cluster, engine.version)
        for _ in range(_LOOKS):
            hosts.time()
        return tuple(_report(hosts, name) for name in hosts.names)


def _report(hosts: LoadHosts, name: str) -> HostReport:
    facts = next(host.facts for host in hosts.cluster.hosts if host.name == name)
    line = hosts.clock(name)
    return HostReport(
        name=name,
        facts=facts,
        clock_ahead_us=line.ahead(line.at_ns) / 1000,
        clock_uncertainty_us=line.uncertainty_ns / 1000,
        lacks=tuple(host_lacks(facts, line.uncertainty_ns / 1000)),
    )


def host_lacks(facts: Mapping[str, object], clock_us: float) -> Iterator[tuple[str, str]]:
    """What is wrong with a host, and a hint."""
    files, ports = facts.get("open_files"), facts.get("ports")
    if isinstance(files, int) and files < _FEW_FILES:
        yield (
            f"an engine process may open {files:,} files, so as many connections at most",
            "`ulimit -Hn 1048576` before `ray start`, or LimitNOFILE; or more `processes`",
        )
    if isinstance(ports, int) and ports < _FEW_PORTS:
        yield (
            f"{ports:,} local ports, so as many connections to one address",
            "`sysctl -w net.ipv4.ip_local_port_range='1024 65535'`",
        )
    if facts.get("clock_source") not in ("tsc", "kvm-clock", "arch_sys_counter", ""):
        yield (
            f"the kernel's clock is `{facts.get('clock_source')}`, which is slow to read",
            "`dmesg | grep clocksource` says why it is not the processor's",
        )
    if clock_us > _CLOCK_US:
        yield (
            f"its clock is known to {clock_us / 1000:.1f} ms only",
            "a nearer host, or one with less to do: round trips through Ray decide",
        )
