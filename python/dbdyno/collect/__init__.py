"""Facts of the host that a run is made on, and what in them will bend its numbers."""

from dbdyno.collect.flags import RedFlag, red_flags
from dbdyno.collect.host import environment_id, host_facts
from dbdyno.collect.limits import MachineLimits, machine_limits

__all__ = [
    "MachineLimits",
    "RedFlag",
    "environment_id",
    "host_facts",
    "machine_limits",
    "red_flags",
]
