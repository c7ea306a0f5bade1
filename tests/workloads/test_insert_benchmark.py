"""`insert_benchmark`: its steps in order on one growing load, whose rows can be told from their
numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"tables": 2, "data_size": 20}


@pytest.fixture(scope="module")
def shop(driven: Driven) -> Iterator[Driven]:
    """After the steps l.i0 and l.x."""
    assert driven.call("insert_benchmark", "prepare", clients=2, **SIZE).complaint == ""
    # More events than a client of SQLite's may have at a stretch: both tables get rows.
    ran = driven.run(
        "insert_benchmark", events=600, clients=4, step="l.i0", rows_per_insert=10, **SIZE
    )
    assert ran.complaint == ""
    assert count(driven) == ran.summary.total.events * 10
    assert driven.call("insert_benchmark", "index", clients=2, **SIZE).complaint == ""
    yield driven
    assert driven.call("insert_benchmark", "cleanup", **SIZE).complaint == ""


def count(shop: Driven) -> int:
    counted = shop.rows("SELECT COUNT(*) FROM purchases1|SELECT COUNT(*) FROM purchases2")
    return sum(int(row[0]) for row in counted)


def ends(shop: Driven) -> tuple[int, int]:
    """The largest numbers of both tables added up, and the least ones: either client may have had
    all events."""
    text = "SELECT COALESCE(MAX(id), 0), COALESCE(MIN(id), 0) FROM purchases"
    first, second = shop.rows(f"{text}1|{text}2")
    return int(first[0]) + int(second[0]), int(first[1]) + int(second[1])


@pytest.mark.parametrize(("step", "rows"), [("l.i1", 50), ("l.i2", 5)])
def test_the_oldest_rows_are_deleted_as_new_ones_come(step: str, rows: int, shop: Driven) -> None:
    before, (first_high, first_low) = count(shop), ends(shop)

    ran = shop.run("insert_benchmark", events=20, clients=2, step=step, check_after=True, **SIZE)

    assert ran.complaint == ""
    # Numbers that no client has used lie between the rows: a range may hold fewer than it could.
    assert before - 2 * 400 <= count(shop) < before + ran.summary.total.events * rows
    high, low = ends(shop)
    assert high > first_high
    assert low > first_low


def test_without_deletes_the_table_grows(shop: Driven) -> None:
    before = count(shop)

    ran = shop.run("insert_benchmark", events=10, step="l.i2", delete=False, **SIZE)

    assert count(shop) == before + ran.summary.total.events * 5


@pytest.mark.parametrize("step", ["qr", "qp"])
def test_queries_read_only(step: str, shop: Driven) -> None:
    ran = shop.run("insert_benchmark", events=50, step=step, **SIZE)

    assert ran.complaint == ""
    assert ran.summary.total.writes == 0
    assert ran.summary.total.reads >= ran.summary.total.events


def test_a_row_tampered_with_is_found(shop: Driven) -> None:
    shop.rows(
        "UPDATE purchases2 SET price = price + 1 WHERE id = (SELECT high FROM "
        "(SELECT MAX(id) AS high FROM purchases2) found)"
    )

    told = shop.call("insert_benchmark", "check", **SIZE)

    assert "purchases2 has the prices that follow from the numbers: (" in told.complaint
    assert "purchases1" not in told.complaint


def test_an_unknown_step_is_told(shop: Driven) -> None:
    ran = shop.run("insert_benchmark", events=1, step="l.i9", **SIZE)

    assert "--step=l.i9: expected l.i0, l.i1, l.i2, qr or qp" in ran.complaint
