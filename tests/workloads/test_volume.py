"""What the lab says of the scripts' tables before anything is run, against what they load."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.volume import volume_of
from dbdyno.engine import find_engine
from dbdyno.engine.catalog import ScriptPage, script_pages
from dbdyno.model import Cell, Option, Volume
from driven import Driven

BUNDLED = Path(__file__).parents[2] / "workloads"

LOADS: dict[str, dict[str, Option]] = {
    "cpu_bound": {},
    "dbstress_like": {"objects": 50, "histories": 3},
    "ddl_storm": {"schemas": 1, "tables": 3},
    "full_text": {"pages": 7, "page_words": 20, "entries": 30},
    "imdb_like": {"titles": 40, "users": 30},
    "insert_benchmark": {"tables": 2},
    "keys": {"keys": 40},
    "kv_update": {"tables": 3, "table_size": 40},
    "micro": {"tables": 2, "table_size": 30},
    "rollup_insert": {"tables": 2},
    "tpcb_like": {"branches": 3, "accounts": 20},
    "tpcc_like": {"warehouses": 2, "reduction": 40},
    "trigger_load": {"rows": 5},
    "ycsb": {"recordcount": 40},
}
ONLY_MYSQL = ("full_text",)
NOT_SQLITE = ("imdb_like",)
ONLY_KEYS = ("keys",)
"""Not for SQL: `test_keys.py` counts them."""


def volume(script: str, options: dict[str, Option]) -> Volume | None:
    return volume_of(Cell({}, "sqlite", {}, script, options))


def pages() -> list[ScriptPage]:
    return [page for page in script_pages(find_engine(), (BUNDLED,)) if page.problem is None]


def test_every_bundled_script_with_tables_of_its_own_is_known() -> None:
    unknown = {page.name for page in pages() if volume(page.name, {}) is None}

    assert unknown == {"film_script"}
    assert {page.name for page in pages()} - set(LOADS) == {"account_select", "film_script"}


def test_options_that_are_left_out_count_as_the_script_s_defaults() -> None:
    differing = [
        page.name
        for page in pages()
        if volume(page.name, {}) != volume(page.name, dict(_defaults(page)))
    ]

    assert differing == []


def _defaults(page: ScriptPage) -> list[tuple[str, Option]]:
    given = [(option.name, option.default) for option in page.options]
    return [
        (name, int(text) if text.isdecimal() else text) for name, text in given if text is not None
    ]


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(LOADS.keys() - set(ONLY_KEYS)))
def test_as_many_rows_are_loaded_as_were_told(driven: Driven, script: str) -> None:
    if driven.driver == "sqlite" and script in (*NOT_SQLITE, *ONLY_MYSQL):
        pytest.skip("not for SQLite")
    if driven.driver == "pgsql" and script in ONLY_MYSQL:
        pytest.skip("not for PostgreSQL")
    options = LOADS[script]
    told = volume(script, options)
    made = driven.call(script, "prepare", clients=1, **options)
    driven.call(script, "cleanup", clients=1, **options)

    assert made.complaint == ""
    assert told is not None
    assert sum(table.rows for table in made.outcome.loaded) == told.rows
