"""Counters on processes and what these start: the kernel's, and a processor's where it has any."""

from __future__ import annotations

import os
import subprocess
import sys

from dbdyno.collect import Watched, collectors
from dbdyno.collect.sources.hardware import COLLECTOR, Counters
from dbdyno.model import Missing

SOFTWARE = 1
FAULTS = {"faults": (SOFTWARE, 2)}
"""Counted by the kernel itself, on every machine."""


def read(counters: Counters) -> float:
    (reading,) = counters.sample()
    return reading.value


def test_what_a_watched_process_starts_is_counted_with_it() -> None:
    counters = Counters(FAULTS)
    counters.watch([os.getpid()])
    try:
        before = read(counters)
        subprocess.run([sys.executable, "-c", "b'x' * 2**25"], check=True)
        after = read(counters)
    finally:
        counters.close()

    assert after - before > 2**25 / 4096 / 2


def test_a_process_that_is_gone_and_an_event_that_is_not_there_are_left_out() -> None:
    counters = Counters({**FAULTS, "none": (SOFTWARE, 10_000)})
    counters.watch([2**22, os.getpid()])

    assert list(counters.counted) == ["faults"]
    counters.close()
    assert not list(counters.sample())


def test_without_a_server_there_is_nothing_to_count() -> None:
    assert COLLECTOR.open(Watched()) is None


def test_a_machine_counts_or_says_why_not() -> None:
    found = COLLECTOR.open(Watched(server_pids=lambda: [os.getpid()]))

    assert found is not None
    if isinstance(found, Missing):
        assert "processor" in found.what
        return
    assert {reading.metric for reading in found.sample()} <= {m.name for m in COLLECTOR.metrics}
    found.close()


def test_it_is_sampled_only_optional_sources() -> None:
    assert COLLECTOR not in collectors("run")
    assert COLLECTOR in collectors("run", ["hardware"])
