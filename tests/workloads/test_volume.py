"""What the lab says of the scripts' tables before anything is run, against what they load."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import open_study
from dbdyno.conduct.volume import scripts_asked, volume_of
from dbdyno.engine import find_engine, plan_scripts
from dbdyno.engine.catalog import ScriptPage, script_pages
from dbdyno.errors import ScriptError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import Cell, EnginePlan, Option, Volume
from driven import Driven

BUNDLED = Path(__file__).parents[2] / "workloads"

LOADS: dict[str, dict[str, Option]] = {
    "cpu_bound": {},
    "dbstress_like": {"objects": 50, "histories": 3},
    "ddl_storm": {"schemas": 1, "tables": 3},
    "doc_oltp": {"tables": 2, "table_size": 30},
    "full_text": {"pages": 7, "page_words": 20, "entries": 30},
    "imdb_like": {"titles": 40, "users": 30},
    "insert_benchmark": {"tables": 2},
    "keys": {"keys": 40},
    "kv_update": {"tables": 3, "table_size": 40},
    "micro": {"tables": 2, "table_size": 30},
    "number_types": {"rows": 5},
    "ontime": {"rows": 25},
    "rollup_insert": {"tables": 2},
    "tpcb_like": {"branches": 3, "accounts": 20},
    "tpcc_like": {"warehouses": 2, "reduction": 40},
    "trigger_load": {"rows": 5},
    "ycsb": {"recordcount": 40},
}
AS_SYSBENCH = ("oltp_", "select_random_", "bulk_insert")
"""Tables of sysbench's scripts, whose figures are known by name."""
ONLY_MYSQL = ("full_text",)
ONLY_CLICKHOUSE = ("number_types",)
NOT_SQLITE = ("imdb_like",)
NO_SQL = ("keys", "doc_oltp")
"""`test_keys.py` and `test_documents.py` count what they make."""


def volume(script: str, options: dict[str, Option]) -> Volume | None:
    return volume_of(Cell({}, "sqlite", {}, script, options))


def pages() -> list[ScriptPage]:
    return [page for page in script_pages(find_engine(), (BUNDLED,)) if page.problem is None]


def test_every_bundled_script_with_tables_of_its_own_says_what_they_come_to() -> None:
    unknown = {page.name for page in pages() if volume(page.name, {}) is None}

    assert unknown == {"film_script"}  # Its tables are another script's.
    others = {page.name for page in pages()} - set(LOADS)
    assert {name for name in others if not name.startswith(AS_SYSBENCH)} == {
        "account_select",
        "film_script",
    }


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
@pytest.mark.parametrize("script", sorted(LOADS.keys() - {*NO_SQL, *ONLY_CLICKHOUSE}))
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


def own(folder: Path, text: str, options: dict[str, Option], *, run_code: bool) -> Volume | None:
    """What the lab knows of a study's own script."""
    (folder / "mine.lua").write_text(f"{text}\nfunction event() end\nfunction prepare() end\n")
    file = folder / "mine.toml"
    file.write_text(
        'question = "How much?"\n[server.lite]\nprovision = "sqlite"\n'
        '[workload]\nscript = "mine"\n[load]\nclients = 1\nmeasure = "1 s"\n'
    )
    with scripts_asked(open_study(str(file)), run_code=run_code):
        return volume_of(Cell({}, "sqlite", {}, "mine", options))


DECLARED = """\
sysbench.cmdline.options = { rows = { "Rows", 7 } }
io.open("executed", "w"):close()
dbdyno.volume = function(opt)
   return { rows = opt.rows, bytes = 100 * opt.rows, event_bytes = 3, event_s = 0.5 }
end"""


def test_a_script_of_one_s_own_says_what_its_data_come_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert own(tmp_path, DECLARED, {}, run_code=False) is None
    assert not (tmp_path / "executed").exists()
    assert own(tmp_path, DECLARED, {}, run_code=True) == Volume(7, 700, 3, 0.5)
    assert own(tmp_path, DECLARED, {"rows": 20}, run_code=True) == Volume(20, 2000, 3, 0.5)
    assert own(tmp_path, DECLARED, {"table_size": 5}, run_code=False) == Volume(5, 1300)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("return { rows = -1 }", "dbdyno.volume() says `rows` is -1; expected a number from 0"),
        ("return { rows = 'many' }", "says `rows` is many; expected a number from 0"),
        ("return { size = 1 }", "says `size`; expected some of: rows, bytes, event_bytes"),
        ("return 5", "dbdyno.volume is a function that returns a table of: rows, bytes"),
        ("return nothing.rows", "mine.lua:2: attempt to index global 'nothing' (a nil value)"),
    ],
)
def test_what_is_no_volume_is_refused_with_what_is(tmp_path: Path, text: str, message: str) -> None:
    script = tmp_path / "mine.lua"
    script.write_text(f"function event() end\ndbdyno.volume = function() {text} end\n")
    spec = {
        "schema": SCHEMA,
        "target": {"driver": "null"},
        "groups": [{"script": str(script), "clients": 1}],
    }
    (refusal, fine) = plan_scripts(
        find_engine(),
        (spec, {**spec, "groups": [{"script": str(BUNDLED / "keys.lua"), "clients": 1}]}),
    )

    assert isinstance(refusal, ScriptError)
    assert message in refusal.message
    assert isinstance(fine, EnginePlan)
    assert [volume.rows for volume in fine.volumes if volume] == [100_000]
