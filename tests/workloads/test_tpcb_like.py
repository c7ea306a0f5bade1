"""`tpcb_like` keeps its books: sums agree after a run, and `check` sees when they don't."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"branches": 2, "accounts": 500}


@pytest.fixture
def bank(driven: Driven) -> Iterator[Driven]:
    loaded = driven.call("tpcb_like", "prepare", clients=2, **SIZE)
    assert loaded.complaint == ""
    yield driven
    assert driven.call("tpcb_like", "cleanup").complaint == ""


def test_the_tables_have_the_rows_the_scale_says(bank: Driven) -> None:
    counts = "|".join(
        f"SELECT COUNT(*), SUM(balance) FROM tpcb_{name}"
        for name in ("branch", "teller", "account")
    )

    assert bank.rows(counts) == [["2", "0"], ["20", "0"], ["1000", "0"]]
    assert bank.rows(
        "SELECT branch, COUNT(*) FROM tpcb_account GROUP BY branch ORDER BY branch"
    ) == [
        ["1", "500"],
        ["2", "500"],
    ]


@pytest.mark.parametrize("mode", ["full", "simple"])
def test_sums_agree_after_a_run(mode: str, bank: Driven) -> None:
    ran = bank.run("tpcb_like", events=300, clients=4, mode=mode, check_after=True, **SIZE)

    assert ran.complaint == ""
    assert ran.summary.total.events >= 300
    assert bank.call("tpcb_like", "check", mode=mode, **SIZE).complaint == ""
    assert int(bank.rows("SELECT COUNT(*) FROM tpcb_history")[0][0]) == ran.summary.total.events


def test_local_accounts_are_those_of_the_teller_s_branch(bank: Driven) -> None:
    bank.run("tpcb_like", events=200, local_percent=100, **SIZE)

    strangers = (
        "SELECT COUNT(*) FROM tpcb_history JOIN tpcb_account ON tpcb_account.id = account "
        "WHERE tpcb_account.branch <> tpcb_history.branch"
    )
    assert bank.rows(strangers) == [["0"]]


@pytest.mark.parametrize("table", ["tpcb_branch", "tpcb_teller", "tpcb_account"])
def test_a_row_tampered_with_is_found(table: str, bank: Driven) -> None:
    bank.run("tpcb_like", events=20, **SIZE)
    bank.rows(f"UPDATE {table} SET balance = balance + 1 WHERE id = 2")

    told = bank.call("tpcb_like", "check", **SIZE)

    assert "do not hold" in told.complaint
    assert "have what the history gave them: (2, " in told.complaint


def test_balances_only_are_read_by_select(bank: Driven) -> None:
    ran = bank.run("tpcb_like", events=100, mode="select", **SIZE)

    assert ran.summary.total.writes == 0
    assert ran.summary.total.reads == ran.summary.total.events


def test_an_unknown_mode_is_told(bank: Driven) -> None:
    ran = bank.run("tpcb_like", events=1, mode="half", **SIZE)

    assert "--mode=half: expected full, simple or select" in ran.complaint


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "SERIALIZABLE"])
def test_sums_agree_at_every_level_of_isolation(isolation: str, bank: Driven) -> None:
    ran = bank.run("tpcb_like", events=100, clients=4, isolation=isolation, **SIZE)

    assert ran.complaint == ""
    assert bank.call("tpcb_like", "check", **SIZE).complaint == ""


def test_a_level_that_is_none_is_told(bank: Driven) -> None:
    ran = bank.run("tpcb_like", events=1, isolation="CHAOS", **SIZE)

    assert "--isolation=CHAOS: expected READ COMMITTED" in ran.complaint
