"""DuckDB driven by the engine: values, errors, loads and scripts, on the real library."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from dbdyno.engine import Outcome, find_engine, find_script, run_engine, run_spec
from dbdyno.engine.script import script_path
from dbdyno.servers import open_server
from dbdyno.servers.protocol import Package, Source
from dbdyno.servers.sources.packaged import fetch
from driven import HERE, Driven, Told, open_driven

pytestmark = pytest.mark.slow

VERSION = "1.5.6"
SCRIPT = str(HERE / "duckdb.lua")
SIZE = {"tables": 2, "table_size": 500}

VALUES = (
    "true::BOOLEAN",
    "false::BOOLEAN",
    *(f"{value}::{kind}" for kind in ("TINYINT", "UTINYINT", "SMALLINT") for value in (0, 127)),
    *(f"({value})::{kind}" for kind in ("INTEGER", "BIGINT", "HUGEINT") for value in (0, -7)),
    "65535::USMALLINT",
    "4294967295::UINTEGER",
    "18446744073709551615::UBIGINT",
    "(-9223372036854775808)::BIGINT",
    "(-170141183460469231731687303715884105728)::HUGEINT",
    "340282366920938463463374607431768211455::UHUGEINT",
    *(
        f"({value})::{kind}"
        for kind in ("DOUBLE", "FLOAT")
        for value in (
            *("0", "-0.0", "1", "-1.5", "0.1", "123456.789", "1e15", "1e16", "1.5e20", "1e-4"),
            *("1e-5", "-2.5e-7", "3.4e38", "'nan'", "'inf'", "'-inf'", "1/3", "99999999"),
        )
    ),
    "1e300::DOUBLE",
    "5e-324::DOUBLE",
    *(f"({value})::DECIMAL(4,1)" for value in ("0", "-0.5", "999.9")),
    *(f"({value})::DECIMAL(2,2)" for value in ("0.12", "-0.99", "0")),
    *(f"(-12.5)::DECIMAL({width},3)" for width in (9, 18, 38)),
    "7::DECIMAL(18,0)",
    *(f"'{day}'::DATE" for day in ("1970-01-01", "2024-02-29", "1600-03-01", "9999-12-31")),
    *(f"'{day}'::DATE" for day in ("0044-03-15 (BC)", "12345-06-07", "infinity", "-infinity")),
    "'12:34:56'::TIME",
    "'23:59:59.120000'::TIME",
    "'00:00:00.000001'::TIME",
    *(
        f"'{instant}'::{kind}"
        for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
        for instant in ("1969-12-31 23:59:59.5", "2026-11-29 01:02:03.25", "infinity")
    ),
    "'2026-11-29 01:02:03.123456789'::TIMESTAMP_NS",
    "'2026-11-29 01:02:03.5+00'::TIMESTAMPTZ",
    "INTERVAL '0' SECOND",
    "INTERVAL '1' YEAR + INTERVAL '1' MONTH - INTERVAL '1' DAY",
    "INTERVAL '14' MONTH + INTERVAL '100' HOUR",
    "INTERVAL '-90' MINUTE + INTERVAL '2' DAY",
    "INTERVAL '-25' MONTH",
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID",
    "'00000000-0000-0000-0000-000000000000'::UUID",
    r"'\xAA\x00ab\x22'::BLOB",
    "'b'::ENUM('a', 'b')",
    "''",
    "'twelve bytes'",
    "'thirteen byte'",
    "'größer ☃ 🦆'",
    "NULL",
    "NULL::INTEGER",
)
"""One of each type, and those at its edges."""

QUERIES = (
    "SELECT k % 7 AS g, count(*), sum(v), avg(v), min(day), max(s) FROM f GROUP BY g ORDER BY g",
    "SELECT f.k, d.name, f.v FROM f JOIN d ON f.k % 5 = d.id WHERE f.k % 97 = 3 ORDER BY f.k",
    "SELECT day, sum(v) OVER (ORDER BY day, k ROWS 3 PRECEDING) FROM f ORDER BY day, k LIMIT 50",
    "SELECT s, quantile_cont(v, 0.5), stddev_samp(v), count(DISTINCT day) FROM f GROUP BY s "
    "ORDER BY s LIMIT 40",
    "SELECT * FROM (SELECT k, v::DECIMAL(12,3) AS amount, hash(s) % 1000 AS h FROM f) "
    "WHERE h < 20 ORDER BY k",
)
TABLES = (
    "CREATE TABLE f AS SELECT i AS k, (i * 7919 % 100003) / 13.0 AS v, "
    "DATE '2020-01-01' + (i % 900)::INTEGER AS day, 'name ' || (i % 211) AS s "
    "FROM range(20000) t(i);"
    "CREATE TABLE d AS SELECT i AS id, 'group ' || i AS name FROM range(5) t(i)"
)
ASK = """
import duckdb, json, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
for query in json.loads(sys.argv[2]):
    rows = connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM ({query})").fetchall()
    print(json.dumps(rows))
print(duckdb.__version__, file=sys.stderr)
"""


@pytest.fixture
def duckdb(tmp_path: Path) -> Iterator[Driven]:
    with open_driven(f"duckdb:{VERSION}", tmp_path) as driven:
        yield driven


def lines(driven: Driven, command: str, rows: int = 0, query: str = "") -> Sequence[str]:
    ended = driven.call(SCRIPT, command, rows=rows, query=query)
    assert ended.complaint == ""
    return ended.lines


def rows(driven: Driven, query: str) -> list[list[str]]:
    return [line.split("\t") for line in lines(driven, "show", query=query)]


def test_every_value_is_read_as_duckdb_writes_it(duckdb: Driven) -> None:
    wrong = []
    query = " UNION ALL ".join(
        f"SELECT {number} AS n, ({value})::VARCHAR AS t" for number, value in enumerate(VALUES)
    )
    written = {int(n): text for n, text in rows(duckdb, f"FROM ({query}) ORDER BY n")}
    ours = rows(duckdb, "SELECT " + ", ".join(VALUES))[0]

    for number, value in enumerate(VALUES):
        if ours[number] != written[number]:
            wrong.append(f"{value}: {ours[number]}, and DuckDB writes {written[number]}")
    assert wrong == []


def test_a_nested_value_is_refused_with_what_to_do(duckdb: Driven) -> None:
    assert (
        "select CAST(column AS VARCHAR)"
        in duckdb.call(SCRIPT, "show", query="SELECT [1, 2]").complaint
    )
    assert rows(duckdb, "SELECT [1, 2]::VARCHAR, {'a': 1}::VARCHAR") == [["[1, 2]", "{'a': 1}"]]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="SKIPPED: its wheel is for Python 3.11")
def test_five_queries_have_the_results_of_its_python_module(duckdb: Driven) -> None:
    module = fetch(Package(VERSION, Source.WHEEL, f"duckdb=={VERSION}", ".")).folder
    assert duckdb.call(SCRIPT, "show", query=TABLES).complaint == ""
    ours = [rows(duckdb, query) for query in QUERIES]

    file = str(duckdb.server.entry.target()["path"])
    asked = subprocess.run(
        [sys.executable, "-c", ASK, file, json.dumps(QUERIES)],
        env={"PYTHONPATH": str(module)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert asked.stderr.strip() == VERSION
    theirs = [json.loads(line) for line in asked.stdout.splitlines()]
    assert [len(result) for result in theirs] == [7, 207, 50, 40, len(ours[4])]
    assert len(ours[4]) > 100
    assert ours == [[[v or "NULL" for v in row] for row in result] for result in theirs]


def test_large_results_several_results_and_parameters(duckdb: Driven) -> None:
    assert lines(duckdb, "large") == ["10000\t49995000"]
    assert lines(duckdb, "several") == ["1\t1\tnil", "2\t2\tb", "2\t3\tnil"]
    assert lines(duckdb, "bound") == [
        "1099511627777,0.25,a?'1,true",
        "2199023255553,0.5,a?'2,true",
    ]


def test_errors_have_the_databases_type_and_words(duckdb: Driven) -> None:
    starts = (
        "Parser Error",
        "Catalog Error: Table with name absent does not exist",
        "Binder Error",
        "Constraint Error: Duplicate key",
        "Conversion Error",
        "Conversion Error",
        "TransactionContext Error: cannot commit - no transaction is active",
        "Catalog Error",
        "none",
        "Constraint Error",
        "TransactionContext Error: Current transaction is aborted",
        "none",
    )
    failures = lines(duckdb, "fail")

    assert len(failures) == len(starts)
    for start, line in zip(starts, failures, strict=True):
        assert line == "none" if start == "none" else f": {start}" in line, start


def test_rows_are_loaded_by_the_appender_as_insert_would(duckdb: Driven) -> None:
    assert lines(duckdb, "load", rows=3000) == []

    loaded = "SELECT count(*), sum(id), sum(d), min(t), count(day), max(day), sum(w) FROM loaded"
    assert rows(duckdb, loaded) == [
        ["3000", "4501500", "-4502250.00", "it's 1", "2572", "2026-02-28", "7500.0"]
    ]


def test_a_load_that_is_refused_has_the_inserts_error_and_leaves_nothing(duckdb: Driven) -> None:
    ended = duckdb.call(SCRIPT, "load_twice")

    assert "Constraint Error" in ended.complaint
    assert rows(duckdb, "SELECT count(*) FROM twice") == [["0"]]


OLTP = (
    "oltp_read_only",
    "oltp_point_select",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)


def test_oltp_scripts_run_and_count_as_elsewhere(duckdb: Driven) -> None:
    assert duckdb.call("oltp_read_only", "prepare", **SIZE).complaint == ""
    for script in OLTP:
        ran = duckdb.run(script, events=20, clients=2, **SIZE)
        assert ran.complaint == "", f"{script}: {ran.complaint}"
        assert ran.summary.total.events == 20, script
        if script == "oltp_read_only":
            assert ran.summary.total.reads == 20 * 14
            assert ran.summary.total.writes == 0
            assert ran.summary.total.other == 20 * 2
    assert duckdb.call("oltp_read_only", "cleanup", **SIZE).complaint == ""
    assert duckdb.server.database.tables() == {}


def test_a_script_that_duckdb_lacks_statements_of_says_so_first(duckdb: Driven) -> None:
    for script in ("trigger_load", "ddl_storm", "tpcc_like"):
        refused = duckdb.call(script, "prepare")
        assert "this script is not for DuckDB" in refused.complaint, script
    assert duckdb.server.database.tables() == {}


def test_the_window_ends_a_statement_that_would_run_for_hours(duckdb: Driven) -> None:
    ended: Told = duckdb.window(SCRIPT, measure_s=1.0)

    assert ended.outcome.summary is not None
    assert ended.summary.total.events == 0


def test_settings_are_those_of_the_instance_or_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with open_driven(f"duckdb:{VERSION}", tmp_path / "a") as driven:
        set_to = rows(driven, "SELECT current_setting('threads'), current_setting('memory_limit')")
    assert set_to == [["2", "488.2 MiB"]]

    with open_server(f"duckdb:{VERSION}", {}, tmp_path) as server:
        server.start()
        target = server.entry.target()
        for changes, complaint in (
            ({"settings": [["treads", "2"]]}, "treads"),
            ({"library": "/bin/sh"}, "is no library with DuckDB's C interface"),
            ({"library": str(tmp_path / "absent.so")}, "absent.so"),
        ):
            failure = _asked_of({**target, **changes}, tmp_path).failure
            assert complaint in str(failure)


def _asked_of(target: Mapping[str, object], folder: Path) -> Outcome:
    spec = run_spec(
        command="show",
        target=target,
        script=find_script(SCRIPT, script_path()),
        script_path=script_path(),
        options={"query": "SELECT 1"},
        clients=1,
        seed=5,
        load=None,
    )
    return run_engine(find_engine(), spec, listener=lambda *_: None, log=folder / "engine.log")
