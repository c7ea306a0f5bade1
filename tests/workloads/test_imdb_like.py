"""`imdb_like`: tables for scripts written for a film database, and a load in their manner."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"titles": 500, "users": 300}


@pytest.fixture(scope="module")
def films(driven: Driven) -> Iterator[Driven]:
    told = driven.call("imdb_like", "prepare", **SIZE)
    if driven.driver == "sqlite":
        assert "SQLite has no schema `imdb`" in told.complaint
        pytest.skip("SQLite has no schemas")
    assert told.complaint == ""
    yield driven
    assert driven.call("imdb_like", "cleanup").complaint == ""


@pytest.mark.parametrize("skip_trx", [False, True])
def test_every_new_user_looks_at_a_page(skip_trx: bool, films: Driven) -> None:
    ran = films.run("imdb_like", events=60, skip_trx=skip_trx, check_after=True, **SIZE)

    assert ran.complaint == ""
    total = ran.summary.total
    assert total.writes == 2 * total.events
    assert total.reads >= 7 * total.events
    assert total.other == (0 if skip_trx else 2 * total.events)


def test_another_s_script_finds_its_tables(films: Driven) -> None:
    ran = films.run("film_script", events=40, point_selects=3, ids=SIZE["titles"])

    assert ran.complaint == ""
    assert ran.summary.total.writes == 2 * ran.summary.total.events
    assert films.call("imdb_like", "check", **SIZE).complaint == ""


def test_a_view_that_is_missing_is_found(films: Driven) -> None:
    films.run("imdb_like", events=5, clients=1, **SIZE)
    views = "SELECT MAX(id) FROM imdb.page_views"
    films.rows(f"DELETE FROM imdb.page_views WHERE id = {films.rows(views)[0][0]}")

    told = films.call("imdb_like", "check", **SIZE)

    assert "every new user has looked at a page: (" in told.complaint
