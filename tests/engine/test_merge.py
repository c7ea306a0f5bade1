"""Streams of several processes added up: nothing lost, nothing counted twice, in order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lines
from dbdyno.engine.merge import Merger
from dbdyno.engine.parts import split
from dbdyno.errors import UsageError
from dbdyno.formats.histograms import decode
from dbdyno.formats.records import dump_record, parse_record
from dbdyno.model import Hello, Interval, Loaded, Phase, Progress, Ready, Record, Summary
from dbdyno.stats.histogram import percentile


def record(line: bytes) -> Record:
    return parse_record(line, number=1)


def merged(streams: Sequence[Sequence[bytes]], order: Iterable[int]) -> list[Record]:
    """What comes out when the streams are read in this order of turns, then to their ends."""
    merger = Merger(len(streams))
    left = [list(stream) for stream in streams]
    out: list[Record] = []
    for index in itertools.chain(order, *([i] * len(s) for i, s in enumerate(streams))):
        if left[index]:
            out += merger.take(index, record(left[index].pop(0)))
    for index in range(len(streams)):
        out += merger.end(index)
    return out


def a_stream(start_ns: int, intervals: int) -> list[bytes]:
    started = json.loads(lines.hello()) | {"start_unix_ns": lines.START_UNIX_NS + start_ns}
    return [
        json.dumps(started).encode(),
        lines.phase("connect"),
        lines.phase("measure"),
        *(lines.interval(index) for index in range(intervals)),
        lines.phase("drain"),
        lines.interval(intervals, phase="drain"),
        lines.summary(),
    ]


def test_rows_of_a_table_that_several_fill_are_added() -> None:
    def loaded(table: str, rows: int) -> bytes:
        return json.dumps({"record": "loaded", "table": table, "rows": rows}).encode()

    first, second = ([*a_stream(n, 1)] for n in range(2))
    first[-1:-1] = [loaded("a", 3), loaded("b", 4)]
    second[-1:-1] = [loaded("b", 5)]

    out = merged([first, second], [])

    assert [record for record in out if isinstance(record, Loaded)] == [
        Loaded("a", 3),
        Loaded("b", 9),
    ]
    assert isinstance(out[-1], Summary)


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), max_size=40),
)
def test_totals_are_the_sum_of_the_parts_in_any_order_of_arrival(
    lengths: list[int], turns: list[int]
) -> None:
    streams = [a_stream(0, length) for length in lengths]
    out = merged(streams, (turn % len(streams) for turn in turns))

    intervals = [each for each in out if isinstance(each, Interval)]
    assert sum(each.counters.events for each in intervals) == 100 * (sum(lengths) + len(lengths))
    assert sum(each.errors["40P01"] for each in intervals) == 2 * (sum(lengths) + len(lengths))
    assert [each.index for each in intervals] == list(range(len(intervals)))
    phases = [each.phase for each in intervals]
    assert phases == sorted(phases, reverse=True), "measure, then drain"
    assert [type(each) for each in out].index(Hello) == 0
    assert [each.phase for each in out if isinstance(each, Phase)] == [
        "connect",
        "measure",
        "drain",
    ]
    (summary,) = (each for each in out if isinstance(each, Summary))
    assert summary is out[-1]
    assert summary.total.reads == 450 * len(lengths)
    assert summary.rss_kb == 15_000 * len(lengths)
    assert not summary.interrupted


def test_histograms_are_added_and_read_the_same_when_written_again() -> None:
    streams = [
        [lines.hello(), lines.summary(histograms=[lines.histogram(values)])]
        for values in (range(1, 51), range(51, 101))
    ]
    (*_, summary) = merged(streams, ())
    again = record(dump_record(summary))

    assert again == summary
    assert isinstance(again, Summary)
    (histogram,) = again.histograms
    assert histogram.count == 100
    assert percentile(decode(histogram), 95) == 95


def test_clocks_are_set_to_the_process_that_started_first() -> None:
    out = merged([a_stream(2_000_000, 1), a_stream(0, 1)], ())

    (hello, *_) = out
    assert isinstance(hello, Hello)
    assert (hello.start_unix_ns, hello.shards) == (lines.START_UNIX_NS, 2)
    first = next(each for each in out if isinstance(each, Interval))
    assert (first.start_ns, first.end_ns) == (0, 1_002_000_000)


def test_all_are_ready_when_the_last_one_is_and_progress_adds_up() -> None:
    ready = b'{"record": "ready", "at_ns": 9}'
    step = '{"record": "progress", "what": "connections", "done": %d, "total": 10, "at_ns": 5}'
    streams = [
        [lines.hello(), (step % 4).encode(), (step % 10).encode(), ready],
        [lines.hello(), (step % 7).encode(), ready],
    ]
    out = merged(streams, (0, 1, 0, 0, 0))

    assert sum(isinstance(each, Ready) for each in out) == 1
    assert isinstance(out[-1], Ready)
    told = [(each.done, each.total) for each in out if isinstance(each, Progress)]
    assert told == [(4, 0), (10, 0), (17, 20)]


def test_a_part_without_a_summary_makes_the_whole_interrupted() -> None:
    (*_, summary) = merged([a_stream(0, 2), a_stream(0, 2)[:-1]], ())

    assert isinstance(summary, Summary)
    assert summary.interrupted


def spec(*groups: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"target": {"driver": "null"}, "groups": list(groups), "events": None, **changes}


def a_group(name: str, clients: int, kind: str = "closed") -> dict[str, Any]:
    return {"name": name, "clients": clients, "arrival": {"kind": kind}}


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 5), st.integers(5, 1000)
)
def test_every_client_and_event_falls_to_one_part(
    sizes: list[int], count: int, events: int
) -> None:
    groups = [a_group(f"g{index}", size) for index, size in enumerate(sizes)]
    if sum(sizes) < count:
        return
    parts = split(spec(*groups, events=events), count)

    assert sum(part["events"] for part in parts) == events
    totals = [sum(group["clients"] for group in part["groups"]) for part in parts]
    assert max(totals) - min(totals) <= 1
    assert totals == sorted(totals, reverse=True), "numbers are local × count + index: no gap"
    for group in groups:
        found = [
            g["clients"] for part in parts for g in part["groups"] if g["name"] == group["name"]
        ]
        assert sum(found) == group["clients"]
    assert [part["part"]["index"] for part in parts] == list(range(count))


def test_open_groups_come_first_in_every_part() -> None:
    parts = split(spec(a_group("one", 1), a_group("many", 6, "poisson")), 3)

    assert [part["groups"][0]["name"] for part in parts] == ["many"] * 3


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        (spec(a_group("main", 2)), "2 clients can't be divided among 3"),
        (spec(a_group("main", 5), events=2), "2 events can't be divided among 3"),
        (spec(a_group("main", 5), a_group("few", 2, "constant")), "group `few` has a rate"),
    ],
)
def test_what_can_not_be_divided_is_refused(whole: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        split(whole, 3)
