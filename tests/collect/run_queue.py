"""How many threads run or could, from /proc/loadavg."""

from collections.abc import Iterator
from pathlib import Path

from dbdyno.collect import Collector
from dbdyno.model import Metric, Reading


class RunQueue:
    """Open as long as a run is measured."""

    def sample(self) -> Iterator[Reading]:
        running, _, _all = Path("/proc/loadavg").read_text().split()[3].partition("/")
        yield Reading("runnable", float(running))

    def close(self) -> None:
        pass


COLLECTOR = Collector(
    "run_queue",
    "host",
    (Metric("runnable", "", "gauge", "Threads that run or could"),),
    lambda watched: RunQueue(),
)
