"""`ontime`: fifteen queries whose results follow from the rows, on every database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from driven import Driven, Told, open_driven

pytestmark = pytest.mark.slow

ROWS = 3000
QUERIES = 15


@pytest.fixture(scope="module")
def flights(driven: Driven) -> Iterator[Driven]:
    assert driven.call("ontime", "prepare", rows=ROWS).complaint == ""
    yield driven
    assert driven.call("ontime", "cleanup").complaint == ""


@pytest.fixture(scope="module", params=["duckdb:1.5.6", "clickhouse@system"])
def columns(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    with open_driven(request.param, tmp_path_factory.mktemp("columns")) as driven:
        assert driven.call("ontime", "prepare", rows=ROWS).complaint == ""
        yield driven


def asked(ran: Told) -> Mapping[str, int]:
    """Events by label."""
    assert ran.complaint == ""
    return {
        histogram.label: histogram.count
        for histogram in ran.summary.histograms
        if histogram.subject == "event" and "query" in histogram.label
    }


def asks_all_queries(driven: Driven) -> None:
    ran = driven.run("ontime", events=100, clients=1, rows=ROWS, rounds=2)

    labels = [f"main/query {number}" for number in range(1, QUERIES + 1)]
    assert asked(ran) == dict.fromkeys(labels, 2)


def test_every_query_is_asked_and_has_the_result_of_the_rows(flights: Driven) -> None:
    asks_all_queries(flights)


def test_results_of_column_stores_are_the_same(columns: Driven) -> None:
    asks_all_queries(columns)


def test_a_query_alone(flights: Driven) -> None:
    ran = flights.run("ontime", events=4, clients=1, rows=ROWS, rounds=0, query=12)

    assert asked(ran) == {"main/query 12": 4}


def test_plans_are_printed(flights: Driven) -> None:
    lines = flights.run("ontime", events=1, clients=1, rows=ROWS).lines

    assert {line.partition(":")[0] for line in lines} == {
        f"query {number}" for number in range(1, QUERIES + 1)
    }


def test_rows_that_were_changed_are_found(columns: Driven) -> None:
    columns.call("ontime", "cleanup")
    assert columns.call("ontime", "prepare", rows=ROWS - 1).complaint == ""

    complaint = columns.run("ontime", events=1, clients=1, rows=ROWS).complaint

    assert "query 9: " in complaint or "query 1: " in complaint
    assert f"--rows={ROWS}" in complaint


def test_a_foreign_table_gives_the_same(flights: Driven) -> None:
    if flights.driver != "pgsql":
        complaint = flights.call("ontime", "prepare", rows=10, foreign="postgres_fdw").complaint
        assert "expected nothing, or postgres_fdw with PostgreSQL" in complaint
        return
    flights.call("ontime", "cleanup")
    prepared = flights.call("ontime", "prepare", rows=ROWS, foreign="postgres_fdw")
    assert prepared.complaint == ""

    ran = flights.run("ontime", events=100, clients=1, rows=ROWS, foreign="postgres_fdw")

    assert ran.complaint == ""
    assert any("Foreign Scan" in line for line in ran.lines)
    assert flights.call("ontime", "cleanup", foreign="postgres_fdw").complaint == ""
    assert flights.call("ontime", "prepare", rows=ROWS).complaint == ""
