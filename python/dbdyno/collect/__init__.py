"""Facts of the host that a run is made on, and what is sampled while it runs."""

from dbdyno.collect.canaries import Canaries
from dbdyno.collect.collector import Collector, Readings, Scope, Watched, WatchedMember
from dbdyno.collect.flags import RedFlag, red_flags
from dbdyno.collect.held_back import held_back
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
    "held_back",
    "host_facts",
    "machine_limits",
    "optional_sources",
    "read_own",
    "red_flags",
    "total_s",
]
