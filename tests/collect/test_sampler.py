"""The sampler: one question a source at a time, gaps where there were none, edges at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from dbdyno.collect import Collector, Sampler, Watched, collectors
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading

COUNT = Metric("count", "", "counter", "How often it was asked")


class Counting:
    """Counts its samples; the third one fails."""

    def __init__(self) -> None:
        self.count = 0
        self.closed = False

    def sample(self) -> Iterable[Reading]:
        self.count += 1
        if self.count == 3:
            raise ServerError("not now")
        yield Reading("count", self.count, "a")

    def close(self) -> None:
        self.closed = True


class Stuck(Counting):
    """Never answers until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def sample(self) -> Iterable[Reading]:
        self.go.wait()
        return []


def collector(source: str, readings: Counting) -> Collector:
    return Collector(source, "run", (COUNT,), lambda _: readings)


def test_an_edge_samples_at_once_and_a_failure_is_a_gap() -> None:
    counting = Counting()

    with Sampler([collector("counting", counting)], Watched()) as sampler:
        for _ in range(4):
            sampler.edge()

    assert counting.closed
    values = [sample.value for sample in sampler.samples()]
    assert values == [value for value in range(1, counting.count + 1) if value != 3]
    cost = sampler.costs()["counting"]
    assert (cost.gaps, cost.failure, cost.samples) == (1, "not now", counting.count - 1)
    ((due_s, came_s),) = cost.missed_unix_s
    _, before_s, after_s, *_ = (sample.unix_ns / 1e9 for sample in sampler.samples())
    assert before_s <= due_s <= after_s <= came_s


def test_edges_say_when_a_source_is_sampled_every_second() -> None:
    counting, pause = Counting(), threading.Event()

    with Sampler([collector("counting", counting)], Watched()) as sampler:
        sampler.edge(idle=True)
        before = counting.count
        pause.wait(2.5)
        idle = counting.count - before
        sampler.edge()
        before = counting.count
        pause.wait(2.5)
        driven = counting.count - before

    assert idle <= 1, "at most the first sample, which ended after the edge began"
    assert driven >= 2


def test_a_slow_source_keeps_no_other_waiting() -> None:
    stuck, counting = Stuck(), Counting()

    with Sampler([collector("stuck", stuck), collector("quick", counting)], Watched()) as sampler:
        sampler.edge()
        quick = len(sampler.samples())
        stuck.go.set()

    assert quick >= 1


def test_a_sample_that_comes_a_second_late_is_a_gap_from_when_it_was_due() -> None:
    stuck = Stuck()
    begun_s = time.time()

    with Sampler([collector("stuck", stuck)], Watched()) as sampler:
        threading.Event().wait(1.2)
        stuck.go.set()

    cost = sampler.costs()["stuck"]
    ((due_s, came_s),) = cost.missed_unix_s
    assert begun_s <= due_s
    assert due_s + 1 <= came_s <= time.time()
    assert (cost.gaps, cost.failure) == (int(came_s - due_s), None)


def test_what_is_missing_is_told_and_what_is_not_there_is_left_out() -> None:
    missing = Missing("no counter", "take another machine")
    absent = Collector("absent", "run", (COUNT,), lambda _: missing)
    nothing = Collector("nothing", "run", (COUNT,), lambda _: None)

    with Sampler([absent, nothing], Watched()) as sampler:
        sampler.edge()

    assert sampler.missing == {"absent": missing}
    assert sampler.samples() == []


def test_every_collector_of_the_host_reads_what_it_declares() -> None:
    with Sampler(collectors("host"), Watched()) as sampler:
        sampler.edge()

    read = {(sample.source, sample.metric) for sample in sampler.samples()}
    for source, metrics in sampler.metrics().items():
        assert {metric for of, metric in read if of == source} <= {m.name for m in metrics}
    assert ("processor", "user_s") in read
    assert ("memory", "available_bytes") in read


def test_names_are_unique_and_say_their_unit() -> None:
    for each in (*collectors("host"), *collectors("run")):
        names = [metric.name for metric in each.metrics]
        assert len(names) == len(set(names)), each.source
        for metric in each.metrics:
            suffix = {"s": "_s", "B": "_bytes", "ms": "_ms"}.get(metric.unit)
            positions = ("log_position", "last_checkpoint")
            assert suffix is None or metric.name.endswith(suffix) or metric.name in positions
