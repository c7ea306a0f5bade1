"""`micro`: each test does what it says, and the answers are the same on every database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from driven import Driven, open_driven
from moving import fetch_or_skip

pytestmark = pytest.mark.slow

SIZE = {"tables": 2, "table_size": 1000, "range_size": 50}

STANDING = (
    "mysql:5.6.14@maven",
    "mariadb:10.2.11@maven",
    "postgresql:9.6.24@maven",
    "duckdb:1.5.6",
)
"""The oldest of each kind: what differs between versions differs most here."""

MORE = (
    "duckdb:1.4.4",
    "duckdb:1.5.0",
    "mariadb:10.5@bullseye",
    "mariadb:10.11.5@maven",
    "mariadb:11.4.5@maven",
    "mariadb:11.8@trixie",
    "postgresql:11.21.0@maven",
    "postgresql:12.22.0@maven",
    "postgresql:13@bullseye",
    "postgresql:14.20.0@maven",
    "postgresql:16@wheel",
    "postgresql:17@trixie",
    "postgresql:18.4@wheel",
)
MOVING = ("mysql@sid", "mariadb@sid", "postgresql@sid", "postgresql@experimental")


def load(driven: Driven) -> None:
    driven.call("micro", "cleanup", **SIZE)
    assert driven.call("micro", "prepare", clients=2, **SIZE).complaint == ""


def digest(driven: Driven) -> Sequence[str]:
    """After a fresh load."""
    load(driven)
    told = driven.call("micro", "digest", **SIZE)
    assert told.complaint == ""
    return told.lines


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """Its digests, which everybody's must be equal to."""
    with open_driven("sqlite", tmp_path_factory.mktemp("sqlite")) as driven:
        return digest(driven)


@pytest.fixture(scope="module")
def micro(driven: Driven) -> Iterator[Driven]:
    load(driven)
    yield driven
    assert driven.call("micro", "cleanup", **SIZE).complaint == ""


def names(micro: Driven) -> list[str]:
    return [line.split()[0] for line in micro.call("micro", "list").lines]


def test_answers_are_the_same_on_every_database(micro: Driven, expected: Sequence[str]) -> None:
    lines = micro.call("micro", "digest", **SIZE).lines

    assert lines == expected
    assert len(lines) == 15
    rows = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert rows["range"] == 20 * SIZE["range_size"]
    assert rows["points"] == 20
    assert rows["scan"] == 0
    assert rows["scan_groups"] == 20 * 10


@pytest.mark.parametrize(
    "provision",
    [*STANDING, *(pytest.param(each, marks=pytest.mark.nightly) for each in (*MORE, *MOVING))],
)
def test_answers_are_the_same_in_every_version(
    provision: str, expected: Sequence[str], tmp_path: Path
) -> None:
    if provision in MOVING:
        fetch_or_skip(provision)
    with open_driven(provision, tmp_path) as driven:
        assert digest(driven) == expected


def test_a_changed_row_changes_the_digest(micro: Driven) -> None:
    before = micro.call("micro", "digest", **SIZE).lines

    micro.rows("UPDATE micro1 SET k = k + 1 WHERE id = 500")

    after = micro.call("micro", "digest", **SIZE).lines
    changed = {a.split()[0] for a, b in zip(after, before, strict=True) if a != b}
    assert {"scan_sum", "scan_groups"} <= changed
    assert "scan_top" not in changed
    micro.rows("UPDATE micro1 SET k = k - 1 WHERE id = 500")


def test_every_test_runs(micro: Driven) -> None:
    for test in names(micro):
        # Two clients' ranges may overlap, and then PostgreSQL may find a deadlock between them.
        clients = 1 if test == "update_range" else 3
        ran = micro.run("micro", events=20, clients=clients, test=test, **SIZE)
        assert ran.complaint == "", f"{test}: {ran.complaint}"
        total = ran.summary.total
        assert total.errors == 0, test
        assert total.events == 20, test
        if test.startswith(("points", "range", "scan")):
            assert total.reads == total.events, test
        else:
            assert total.writes > 0, test
    load(micro)


def test_delete_insert_leaves_as_many_rows(micro: Driven) -> None:
    micro.run("micro", events=200, clients=4, test="delete_insert", **SIZE)

    count = "SELECT COUNT(*), MIN(id), MAX(id) FROM micro"
    assert micro.rows(f"{count}1|{count}2") == [["1000", "1", "1000"]] * 2


def test_inserted_rows_are_new(micro: Driven) -> None:
    ran = micro.run("micro", events=150, clients=4, test="insert", **SIZE)

    assert ran.complaint == ""
    count = "SELECT (SELECT COUNT(*) FROM micro1) + (SELECT COUNT(*) FROM micro2)"
    assert micro.rows(count) == [[str(2000 + ran.summary.total.events)]]
    load(micro)


def test_an_unknown_test_is_told_with_those_there_are(micro: Driven) -> None:
    ran = micro.run("micro", events=1, test="joins", **SIZE)

    assert "--test=joins: expected one of points, points_secondary" in ran.complaint
