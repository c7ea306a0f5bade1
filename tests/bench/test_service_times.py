"""Engine and proxy on the same statements, and the judgement on made-up rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.judge import Verdict
from bench.service.__main__ import main
from bench.service.cells import CELLS, Cell
from bench.service.judge import judge
from bench.service.measure import build_proxy, figures, see
from bench.service.page import write_page
from bench.service.results import Results, read_results, write_results
from bench.service.served import served
from dbdyno.engine import find_engine
from dbdyno.errors import UsageError

STATEMENTS = 500
BUCKET = 1.001
"""How far a mean of the engine's buckets may lie off."""
FACTS: Mapping[str, object] = {
    "host": {"processor": {"model": "Abacus", "threads": 2}, "kernel": {"release": "1.0"}},
    "environment": "0123456789abcdef",
    "engine": "0.1.0",
    "server": "18.4",
    "statements": 20_000,
}


def test_engine_and_proxy_time_the_same_statements(tmp_path: Path) -> None:
    engine, program = find_engine(), build_proxy(tmp_path)
    with served() as (target, _):
        for cell in (
            Cell("epoll", "batch", 4),
            Cell("io-uring", "batch", 1),
            Cell("io-uring", "inherit", 4, rate_per_s=2000),
        ):
            seen = see(engine, program, target, cell, STATEMENTS)

            moments = (seen.asked_ns, seen.arrived_ns, seen.answered_ns, seen.resumed_ns)
            assert [len(column) for column in moments] == [STATEMENTS] * 4
            assert all((a < b).all() for a, b in pairwise(moments))
            found = figures(seen)
            whole_us = float((seen.resumed_ns - seen.asked_ns).mean()) / 1e3
            assert found["service_us"] + found["queued_us"] < whole_us * BUCKET
            if cell.reactor == "epoll" or cell.clients == 1:
                # Where several go out with one call, each has its share of it: not quite its own.
                assert found["service_us"] * BUCKET > found["proxy_us"]
            assert np.isclose(
                whole_us,
                found["proxy_us"]
                + found["reply_us"]
                + found["queued_us"]
                + found["sending_most_us"],
            )


def rounds(
    least: Sequence[float], most: Sequence[float], proxy_us: float = 50.0
) -> list[Mapping[str, float]]:
    return [
        {
            "statements_per_s": 1000.0,
            "service_us": proxy_us + one + 20.0,
            "proxy_us": proxy_us,
            "sending_least_us": one,
            "sending_most_us": other,
            "way_us": 1.5,
            "reply_us": 20.0,
            "unread_us": 12.0,
            "queued_us": 0.0,
        }
        for one, other in zip(least, most, strict=True)
    ]


@pytest.mark.parametrize(
    ("least", "most", "proxy_us", "as_it_is", "without_way"),
    [
        ([1.0, 1.1, 0.9], [1.5, 1.6, 1.4], 50.0, Verdict.MET, Verdict.MET),
        ([1.8, 1.9, 1.7], [2.5, 2.6, 2.4], 50.0, Verdict.UNCLEAR, Verdict.MET),
        ([9.0, 9.1, 8.9], [9.5, 9.6, 9.4], 50.0, Verdict.MISSED, Verdict.MISSED),
        ([9.0, 9.1, 8.9], [9.5, 9.6, 9.4], 1000.0, Verdict.MET, Verdict.MET),
        ([-9.0, -9.1, -8.9], [-8.5, -8.6, -8.4], 50.0, Verdict.MISSED, Verdict.MISSED),
        ([1.0, -9.0, 11.0], [1.5, -8.5, 11.5], 50.0, Verdict.UNCLEAR, Verdict.UNCLEAR),
        ([1.0, 1.1], [1.5, 1.6], 50.0, Verdict.UNCLEAR, Verdict.UNCLEAR),
    ],
)
def test_a_difference_is_judged_by_its_whole_interval(
    least: Sequence[float],
    most: Sequence[float],
    proxy_us: float,
    as_it_is: Verdict,
    without_way: Verdict,
) -> None:
    made_up = rounds(least, most, proxy_us)

    assert judge(made_up, without_way=False).verdict == as_it_is
    assert judge(made_up, without_way=True).verdict == without_way


def test_rounds_are_added_to_those_of_the_same_machine(tmp_path: Path) -> None:
    once = Results(FACTS, ["monday"], {cell: rounds([1.0], [1.5]) for cell in CELLS})
    write_results(tmp_path, once)
    twice = read_results(tmp_path).then(replace(once, started=["tuesday"]))

    assert twice.started == ["monday", "tuesday"]
    assert {len(each) for each in twice.rounds.values()} == {2}
    with pytest.raises(UsageError, match="the rounds so far have another server"):
        twice.then(replace(once, facts={**FACTS, "server": "19.0"}))
    with pytest.raises(UsageError, match="there is no "):
        read_results(tmp_path / "elsewhere")


def test_the_page_shows_every_cell(tmp_path: Path) -> None:
    met = rounds([1.0, 1.1, 0.9], [1.5, 1.6, 1.4])
    write_page(tmp_path, Results(FACTS, ["a", "b", "c"], dict.fromkeys(CELLS, met)))
    page = (tmp_path / "README.md").read_text()

    assert "3 rounds from a to c: Abacus, 2 threads" in page
    assert page.count("| met |") == 2 * len(CELLS)
    assert "| 256 clients | io-uring | inherit |" in page
    assert "| 20,000/s | epoll | batch |" in page


def test_rounds_must_be_a_number() -> None:
    with pytest.raises(UsageError, match="SERVICE_ROUNDS is `ten`; expected a number above 0"):
        main(["page"], {"SERVICE_ROUNDS": "ten"})
