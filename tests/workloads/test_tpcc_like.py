"""`tpcc_like`: the conditions hold after the load and after runs, and none of them can be broken
without `check` saying which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"warehouses": 2, "reduction": 100}
LABELS = ("new_order", "payment", "order_status", "delivery", "stock_level")


@pytest.fixture(scope="module")
def shop(driven: Driven) -> Iterator[Driven]:
    loaded = driven.call("tpcc_like", "prepare", clients=2, **SIZE)
    assert loaded.complaint == ""
    yield driven
    assert driven.call("tpcc_like", "cleanup").complaint == ""


def check(shop: Driven) -> str:
    return shop.call("tpcc_like", "check", **SIZE).complaint


def test_conditions_hold_after_the_load(shop: Driven) -> None:
    assert check(shop) == ""


def test_conditions_hold_after_a_run(shop: Driven) -> None:
    before = shop.rows("SELECT SUM(next_o_id) FROM tpcc_district")

    ran = shop.run("tpcc_like", events=600, clients=6, check_after=True, **SIZE)

    assert ran.complaint == ""
    assert check(shop) == ""
    assert shop.rows("SELECT SUM(next_o_id) FROM tpcc_district") != before
    named = {histogram.label for histogram in ran.summary.histograms}
    assert {label for label in LABELS if any(label in name for name in named)} == set(LABELS)


def test_a_client_at_a_terminal_waits_outside_of_its_events(shop: Driven) -> None:
    ran = shop.run(
        "tpcc_like",
        events=60,
        clients=4,
        home="fixed",
        keying=True,
        thinking=True,
        wait_scale=0.001,
        **SIZE,
    )

    assert ran.complaint == ""
    assert ran.summary.total.events >= 60
    assert check(shop) == ""


def test_only_the_kinds_of_the_mix_are_run(shop: Driven) -> None:
    ran = shop.run("tpcc_like", events=40, mix="0,0,50,0,50", **SIZE)

    assert ran.summary.total.writes == 0
    wrong = shop.run("tpcc_like", events=1, mix="45,43,4,4", **SIZE)
    assert "--mix=45,43,4,4: expected five whole numbers" in wrong.complaint


def test_the_same_seed_loads_the_same_rows_whatever_the_number_of_clients(shop: Driven) -> None:
    if shop.driver == "sqlite":
        pytest.skip("SQLite is loaded by one client")
    shop.call("tpcc_like", "cleanup")
    several = "SELECT w_id, d_id, c_id, data FROM tpcc_customer ORDER BY w_id, d_id, c_id"
    shop.call("tpcc_like", "prepare", clients=3, **SIZE)
    rows = shop.rows(several)
    shop.call("tpcc_like", "cleanup")
    shop.call("tpcc_like", "prepare", clients=1, **SIZE)

    assert shop.rows(several) == rows
    assert len({row[3] for row in rows}) == len(rows) == 600, "parts of a table are alike"


TAMPERING = {
    1: "UPDATE tpcc_warehouse SET ytd = ytd + 1 WHERE w_id = 2",
    2: "UPDATE tpcc_district SET next_o_id = next_o_id + 1 WHERE w_id = 2 AND d_id = 3",
    3: "DELETE FROM tpcc_new_order WHERE w_id = 1 AND d_id = 4 AND o_id = "
    "(SELECT MAX(o_id) - 1 FROM tpcc_orders WHERE w_id = 1 AND d_id = 4)",
    4: "DELETE FROM tpcc_order_line WHERE w_id = 1 AND d_id = 1 AND o_id = 1 AND number = 1",
    5: "INSERT INTO tpcc_new_order (w_id, d_id, o_id) VALUES (1, 5, 1)",
    6: "UPDATE tpcc_orders SET ol_cnt = ol_cnt + 1 WHERE w_id = 1 AND d_id = 1 AND o_id = 2",
    7: "UPDATE tpcc_order_line SET delivered = NULL WHERE w_id = 2 AND d_id = 2 AND o_id = 1 "
    "AND number = 2",
    8: "UPDATE tpcc_history SET amount = amount + 0.01 WHERE w_id = 1 AND d_id = 3",
    9: "UPDATE tpcc_district SET ytd = ytd - 0.01 WHERE w_id = 1 AND d_id = 9",
    10: "UPDATE tpcc_customer SET balance = balance + 0.01 "
    "WHERE w_id = 1 AND d_id = 6 AND c_id = 7",
    11: "UPDATE tpcc_customer SET delivery_cnt = delivery_cnt + 1 "
    "WHERE w_id = 1 AND d_id = 7 AND c_id = 1",
    12: "UPDATE tpcc_customer SET ytd_payment = ytd_payment + 0.01 "
    "WHERE w_id = 2 AND d_id = 6 AND c_id = 8",
}


def test_each_condition_sees_a_row_tampered_with(shop: Driven) -> None:
    unseen = []
    for number, text in TAMPERING.items():
        shop.call("tpcc_like", "cleanup")
        shop.call("tpcc_like", "prepare", clients=2, **SIZE)
        shop.rows(text)
        if f"condition {number}, " not in check(shop):
            unseen.append(number)

    assert unseen == []


def test_a_lost_row_is_told_whatever_the_conditions(shop: Driven) -> None:
    shop.rows("DELETE FROM tpcc_stock WHERE w_id = 2 AND i_id = 17")

    assert "tpcc_stock has 1999 rows and not 2000" in check(shop)
