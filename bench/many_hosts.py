"""What merging the records of many load hosts costs the lab: hosts that are made up, at any number.

`python -m bench.many_hosts 64 600` merges 64 hosts' records of 600 intervals as a run would, as
fast as it can, and prints what that took of processor time and memory. Each host sends a second's
records when all those of the second before the last are merged, so that no more wait than in a run.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Semaphore
from typing import Any

import numpy as np

from dbdyno.engine.host_figures import HostRecords
from dbdyno.engine.together import Together
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.formats.records import dump_record
from dbdyno.model import Counters, CpuTime, Hello, HistogramRecord, Interval, LoadHost, Summary
from dbdyno.places import ClockLine
from dbdyno.places.local import LocalProcess
from dbdyno.stats import merge_histograms

SECOND_NS = 1_000_000_000
START_UNIX_NS = 1_700_000_000 * SECOND_NS
EVENTS_PER_S = 20_000
"""Of each host; a distribution of fewer values is not much smaller."""
_DISTINCT = 16
_AHEAD = 2
"""Intervals that a host may be ahead of what is merged."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What merging took."""

    hosts: int
    intervals: int
    events: int
    """In the merged records."""
    bytes_received: int
    bytes_merged: int
    cpu_s: float
    """Of merging alone, without making the records up."""
    figures_cpu_s: float
    """Of the hosts' own figures, when the run is over."""
    memory_bytes: int
    """By how much the process has grown at most."""


class MadeUpHost(LocalProcess):
    """A load host's engine process; nothing runs."""

    def __init__(self, name: str, lines: Sequence[bytes], intervals: int) -> None:
        self.host = name
        self._lines, self._intervals = lines, intervals
        self.may_send = Semaphore(_AHEAD)
        self.bytes = 0

    def lines(self) -> Iterator[bytes]:
        hello = Hello(SCHEMA, "0", "2.1", "epoll", 1, 1, START_UNIX_NS, 1)
        yield self._counted(dump_record(hello))
        for second in range(self._intervals):
            self.may_send.acquire()
            line = self._lines[second % len(self._lines)]
            yield self._counted(line.replace(b'"@"', b"%d" % second))
        yield self._counted(dump_record(_summary(self._intervals)))

    def poll(self) -> int:
        return 0

    def wait(self) -> int:
        return 0

    def _counted(self, line: bytes) -> bytes:
        self.bytes += len(line)
        return line


@dataclass(frozen=True, slots=True)
class MadeUpHosts:
    """As `LoadHosts` names them, with clocks that are known."""

    names: Sequence[str]

    def clock(self, _name: str) -> ClockLine:
        """Of any of them."""
        return ClockLine(START_UNIX_NS, 0.0, 0.0, 100_000.0)


def merge(count: int, intervals: int) -> Merged:
    """Merges so many intervals of so many hosts."""
    lines = [_interval_line(np.random.default_rng(n)) for n in range(_DISTINCT)]
    names = [f"load-{n}" for n in range(count)]
    processes = [MadeUpHost(name, lines, intervals) for name in names]
    hosts: Any = MadeUpHosts(names)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began_s = time.process_time()
    together = Together(processes, None, hosts)
    events = merged_bytes = 0
    for line, record in together.records(lambda: None):
        merged_bytes += len(line)
        if isinstance(record, Interval):
            events += record.counters.events
            for process in processes:
                process.may_send.release()
    merged_s = time.process_time()
    assert together.of_hosts is not None
    figures = _figures(together.of_hosts)
    ended_s = time.process_time()
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    assert sum(host.events for host in figures) == events
    return Merged(
        hosts=count,
        intervals=intervals,
        events=events,
        bytes_received=sum(process.bytes for process in processes),
        bytes_merged=merged_bytes,
        cpu_s=merged_s - began_s,
        figures_cpu_s=ended_s - merged_s,
        memory_bytes=grown_kb * 1024,
    )


def _figures(records: HostRecords) -> Sequence[LoadHost]:
    samples = records.samples()
    assert samples, "of every interval"
    return records.figures({})


def _interval_line(rng: np.random.Generator) -> bytes:
    """A second of a host, whose numbers of the interval and of its ends are to be filled in."""
    histogram = merge_histograms([])
    for value in rng.lognormal(np.log(2e6), 0.5, EVENTS_PER_S):
        histogram.record_value(int(value) + 1)
    hdr = histogram.encode().decode("ascii")
    counters = Counters(EVENTS_PER_S, EVENTS_PER_S, 0, 0, 0, 0, 0, 0, 0)
    distribution = HistogramRecord("event", "main", "response", EVENTS_PER_S, 0, hdr)
    interval = Interval(
        index=0,
        phase="measure",
        start_ns=0,
        end_ns=SECOND_NS,
        clients=100,
        counters=counters,
        errors={},
        backlog=0,
        cpu=CpuTime(1, 1),
        histograms=(distribution,),
    )
    words = json.loads(dump_record(interval))
    line = json.dumps({**words, "index": "@"})
    return line.encode() + b"\n"


def _summary(intervals: int) -> Summary:
    events = intervals * EVENTS_PER_S
    counters = Counters(events, events, 0, 0, 0, 0, 0, 0, 0)
    return Summary(
        interrupted=False,
        start_ns=0,
        end_ns=intervals * SECOND_NS,
        measured=counters,
        total=counters,
        errors={},
        cpu=CpuTime(1, 1),
        rss_peak_kb=1,
        rss_kb=1,
        clients=100,
        histograms=(),
    )


def main(arguments: Sequence[str]) -> None:
    """Merges HOSTS × INTERVALS and prints what it took."""
    hosts, intervals = map(int, arguments)
    merged = merge(hosts, intervals)
    words = {name: getattr(merged, name) for name in Merged.__slots__}
    sys.stdout.write(json.dumps(words, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
