"""Facts of the host that a run is made on, and what is sampled while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.collect.canaries import Canaries
    from dbdyno.collect.collector import Collector, Readings, Scope, Watched, WatchedMember
    from dbdyno.collect.flags import RedFlag, red_flags
    from dbdyno.collect.host import activity_now, environment_id, host_facts
    from dbdyno.collect.limits import MachineLimits, machine_limits
    from dbdyno.collect.own import OwnCollector, read_own
    from dbdyno.collect.registry import collectors, optional_sources
    from dbdyno.collect.sampler import Cost, Sampler
    from dbdyno.collect.served import total_s

__all__ = [
    "Canaries",
    "Collector",
    "Cost",
    "MachineLimits",
    "OwnCollector",
    "Readings",
    "RedFlag",
    "Sampler",
    "Scope",
    "Watched",
    "WatchedMember",
    "activity_now",
    "collectors",
    "environment_id",
    "host_facts",
    "machine_limits",
    "optional_sources",
    "read_own",
    "red_flags",
    "total_s",
]

_PLACES = {
    "Canaries": "canaries",
    "Collector": "collector",
    "Readings": "collector",
    "Scope": "collector",
    "Watched": "collector",
    "WatchedMember": "collector",
    "RedFlag": "flags",
    "red_flags": "flags",
    "activity_now": "host",
    "environment_id": "host",
    "host_facts": "host",
    "MachineLimits": "limits",
    "machine_limits": "limits",
    "OwnCollector": "own",
    "read_own": "own",
    "collectors": "registry",
    "optional_sources": "registry",
    "Cost": "sampler",
    "Sampler": "sampler",
    "total_s": "served",
}

__getattr__ = on_demand(__name__, _PLACES)
