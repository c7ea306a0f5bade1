"""Facts of the host that a run is made on, and what in them will bend its numbers."""

from dbdyno.collect.flags import RedFlag, red_flags
from dbdyno.collect.host import environment_id, host_facts

__all__ = ["RedFlag", "environment_id", "host_facts", "red_flags"]
