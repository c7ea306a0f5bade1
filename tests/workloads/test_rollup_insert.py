"""`rollup_insert`: the roll-up tables hold the sums of the rows, whatever the key."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from driven import Driven

SIZE = {"tables": 2, "hosts": 3}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("key", ["sequential", "composite", "reversed"]),
]


@pytest.fixture
def rollup(key: str, driven: Driven) -> Iterator[Driven]:
    assert driven.call("rollup_insert", "prepare", clients=2, key=key, **SIZE).complaint == ""
    yield driven
    assert driven.call("rollup_insert", "cleanup", **SIZE).complaint == ""


def test_sums_are_those_of_the_rows(key: str, rollup: Driven) -> None:
    for seed in (1, 2):
        ran = rollup.run(
            "rollup_insert", events=150, clients=4, seed=seed, key=key, check_after=True, **SIZE
        )
        assert ran.complaint == ""
    assert rollup.call("rollup_insert", "check", key=key, **SIZE).complaint == ""
    rows = rollup.rows("SELECT COUNT(*) FROM rollup_rows1|SELECT COUNT(*) FROM rollup_rows2")
    assert sum(int(row[0]) for row in rows) >= 300
    # Ten consecutive numbers share a sum, so it was updated and not only inserted.
    if key == "sequential":
        # Both tables together: a busy SQLite may serve the clients of one only.
        sums = rollup.rows("SELECT COUNT(*) FROM rollup_10_1|SELECT COUNT(*) FROM rollup_10_2")
        assert sum(int(row[0]) for row in sums) < sum(int(row[0]) for row in rows)


def test_a_sum_tampered_with_is_found(key: str, rollup: Driven) -> None:
    rollup.run("rollup_insert", events=100, key=key, **SIZE)

    rollup.rows("UPDATE rollup_100_1 SET k = k + 1|UPDATE rollup_100_2 SET k = k + 1")

    told = rollup.call("rollup_insert", "check", key=key, **SIZE)
    assert re.search(r"rollup_100_\d has the sums of rollup_rows\d: \(", told.complaint)
    assert not re.search(r"rollup_1000_\d has the sums", told.complaint)


def test_selects_read_beside_the_inserts(key: str, rollup: Driven) -> None:
    ran = rollup.run("rollup_insert", events=50, key=key, selects=2, **SIZE)

    assert ran.complaint == ""
    assert ran.summary.total.reads >= 2 * 50
