"""`ddl_storm`: as many tables come and go as its options say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"schemas": 3, "tables": 6}


@pytest.fixture
def storm(driven: Driven) -> Iterator[Driven]:
    assert driven.call("ddl_storm", "prepare", clients=2, **SIZE).complaint == ""
    yield driven
    assert driven.call("ddl_storm", "cleanup", **SIZE).complaint == ""


def test_tables_are_created_once_and_dropped_once(storm: Driven) -> None:
    whole = 6 * (1 if storm.driver == "sqlite" else 3)
    for mode in ("create", "drop"):
        ran = storm.run("ddl_storm", events=1000, clients=4, mode=mode, **SIZE)

        assert ran.complaint == ""
        assert ran.summary.total.events == whole
        assert ran.summary.total.errors == 0
        assert storm.call("ddl_storm", "check", mode=mode, **SIZE).complaint == ""


def test_tables_that_are_left_are_told(storm: Driven) -> None:
    storm.run("ddl_storm", events=5, clients=1, mode="create", **SIZE)

    told = storm.call("ddl_storm", "check", mode="create", **SIZE)

    assert "after mode create there are 5 tables and not" in told.complaint
    assert "was the run cut short?" in told.complaint


def test_a_cycle_leaves_no_table(storm: Driven) -> None:
    ran = storm.run("ddl_storm", events=75, clients=3, mode="cycle", **SIZE)

    assert ran.complaint == ""
    assert ran.summary.total.events >= 75
    assert {h.label for h in ran.summary.histograms} >= {"main/create", "main/drop"}
    assert storm.call("ddl_storm", "check", mode="cycle", **SIZE).complaint == ""


def test_a_storm_creates_every_table_and_drops_its_schemas(storm: Driven) -> None:
    ran = storm.run("ddl_storm", events=1000, clients=2, mode="storm", **SIZE)

    if storm.driver == "sqlite":
        assert "SQLite has no schemas to drop" in ran.complaint
        return
    assert ran.complaint == ""
    counts = {h.label: h.count for h in ran.summary.histograms if h.subject == "event"}
    assert counts == {"main/create": 18, "main/drop schema": 3}
    assert storm.call("ddl_storm", "check", mode="storm", **SIZE).complaint == ""


def test_more_clients_than_tables_are_refused(storm: Driven) -> None:
    ran = storm.run("ddl_storm", events=1, clients=9, schemas=1, tables=2)

    assert "9 clients have only 2 tables between them" in ran.complaint
