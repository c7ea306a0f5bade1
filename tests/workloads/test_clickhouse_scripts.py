"""ClickHouse driven by the engine: values, errors, loads and scripts, on the real server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import find_engine, find_script, run_engine, run_spec
from dbdyno.engine.script import script_path
from dbdyno.servers import open_server
from dbdyno.servers.databases.clickhouse.session import ClickhouseSession
from driven import HERE, Driven, open_driven

pytestmark = pytest.mark.slow

SCRIPT = str(HERE / "clickhouse.lua")
SIZE = {"tables": 2, "table_size": 500}
VALUES = (
    *(f"to{kind}({value})" for kind in ("UInt8", "Int16", "Int32", "Int64") for value in (0, 100)),
    *(f"to{kind}(-7)" for kind in ("Int8", "Int16", "Int32", "Int64", "Float64")),
    "toUInt64(18446744073709551615)",
    "toInt64(-9223372036854775808)",
    *(f"toFloat64({value})" for value in ("0", "0.1", "-2.5e-7", "123456.789", "1e15")),
    *(f"toFloat32({value})" for value in ("0.1", "-1.5", "16777216")),
    "1 / 0",
    "toDecimal32('-0.05', 2)",
    "toDecimal64('123456789.125', 3)",
    "toDecimal128('-12345678901234567890.5', 1)",
    "toDate('2026-11-29')",
    "toDate('1970-01-02')",
    "toDateTime('2026-11-29 01:02:03')",
    "toDateTime('1970-01-02 00:00:00')",
    "toUUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')",
    "CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = -2)')",
    "CAST(NULL, 'Nullable(Int32)')",
    "CAST(5, 'Nullable(Int32)')",
    "NULL",
    "toFixedString('abc', 3)",
    "''",
    "'it\\'s'",
    "hex('" + 100 * "xy" + "')",
)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with open_driven("clickhouse@system", tmp_path_factory.mktemp("clickhouse")) as opened:
        yield opened


def test_values_are_those_that_the_server_writes(driven: Driven) -> None:
    session = driven.server.database.inside()
    assert isinstance(session, ClickhouseSession)
    query = f"SELECT {', '.join(f'({value})' for value in VALUES)}"
    (own,) = session.lines(query)
    expected = [value.decode().replace("\\N", "NULL").replace("\\'", "'") for value in own]

    called = driven.call(SCRIPT, "ask", query=query)

    assert called.complaint == ""
    assert called.lines[0].split("\t") == expected


def test_rows_of_many_blocks_come_in_order(driven: Driven) -> None:
    """More than a block of the server's holds."""
    called = driven.call(SCRIPT, "large")

    assert (called.complaint, called.lines) == ("", ["200000\t19999900000"])


def test_errors_have_the_server_s_codes_and_the_session_goes_on(driven: Driven) -> None:
    called = driven.call(SCRIPT, "fail")

    assert called.complaint == ""
    codes = [line.partition(", state")[0].removeprefix("SQL error, ") for line in called.lines]
    assert codes[:5] == ["errno = 62", "errno = 60", "errno = 60", "errno = 62", "errno = 62"]
    assert "column id (UInt8): 300 is no value of it: nothing was stored" in called.lines[3]
    assert codes[5:7] == ["none", "none"]
    assert codes[7].startswith("errno = ")
    assert called.lines[8:] == ["stored 7", "stored 8"]
    assert called.summary.total.reconnects == 0


@pytest.mark.parametrize("loaders", [0, 3])
def test_rows_are_loaded_as_blocks_whoever_carries_them(driven: Driven, loaders: int) -> None:
    called = driven.fill(SCRIPT, loaders=loaders)
    assert called.complaint == ""
    loaded = driven.call(
        SCRIPT,
        "ask",
        query="SELECT count(), sum(id), sum(d), countIf(day IS NULL), min(day), min(w), max(w), "
        "countIf(t = concat('it\\'s ', toString(id))) FROM loaded",
    )

    assert loaded.lines == ["3000\t4501500\t-4502250.00\t428\t2026-02-28\t2.5\t2.5\t3000"]
    assert driven.server.database.contents("loaded", checksum=False).rows == 3000
    driven.call(SCRIPT, "cleanup")


def test_loaders_insert_rows_by_the_megabyte(driven: Driven) -> None:
    """Each INSERT makes a part, which has to be merged."""
    before = driven.server.database.counters()
    assert driven.fill(SCRIPT, loaders=2, rows=20_000).complaint == ""
    after = driven.server.database.counters()

    assert driven.server.database.contents("loaded", checksum=False).rows == 20_000
    assert after["InsertQuery"] - before["InsertQuery"] == 1
    driven.call(SCRIPT, "cleanup")


def test_as_many_statements_are_counted_as_the_server_counts(driven: Driven) -> None:
    before = driven.server.database.counters()
    called = driven.run(SCRIPT, events=500, clients=4)
    after = driven.server.database.counters()

    own = 1  # The second look at the counters.
    assert called.complaint == ""
    assert after["Query"] - before["Query"] - own == 500 == called.summary.total.reads
    assert after["SelectQuery"] - before["SelectQuery"] - own == 500


def test_scripts_read_and_insert(driven: Driven) -> None:
    called = driven.call("oltp_read_only", "prepare", **SIZE)
    assert called.complaint == ""
    assert called.lines[0].startswith("ClickHouse: tables are MergeTree in the order of id")
    assert driven.call("oltp_read_only", "prewarm", **SIZE).complaint == ""
    for script, statements in (
        ("oltp_read_only", 14),
        ("oltp_point_select", 1),
        ("select_random_points", 1),
        ("select_random_ranges", 1),
    ):
        called = driven.run(script, events=20, **SIZE)
        assert (called.complaint, called.summary.total.reads) == ("", 20 * statements), script
    driven.call("oltp_read_only", "cleanup", **SIZE)

    driven.call("oltp_insert", "prepare")
    assert driven.run("oltp_insert", events=30).complaint == ""
    assert driven.server.database.contents("sbtest1", checksum=False).rows == 30
    driven.call("oltp_insert", "cleanup")

    driven.call("bulk_insert", "prepare")
    assert driven.run("bulk_insert", events=5000, clients=1).complaint == ""
    assert driven.server.database.contents("sbtest1", checksum=False).rows == 5000
    driven.call("bulk_insert", "cleanup")


def test_what_is_not_for_it_says_so_before_there_is_a_table(driven: Driven) -> None:
    tables = driven.server.database.tables()
    for script in ("oltp_read_write", "tpcc_like"):
        complaint = driven.call(script, "prepare").complaint
        assert "this script is not for ClickHouse" in complaint, script
    complaint = driven.call("micro", "prepare", test="delete").complaint
    assert "--test=delete changes rows in their place" in complaint
    assert driven.server.database.tables() == tables


def test_digests_are_those_of_other_databases(driven: Driven, tmp_path: Path) -> None:
    with open_driven("sqlite", tmp_path) as other:
        digests = []
        for place in (driven, other):
            assert place.call("micro", "prepare", table_size=2000).complaint == ""
            digests.append(place.call("micro", "digest", table_size=2000).lines)
            place.call("micro", "cleanup")
    assert digests[0] == digests[1]
    assert len(digests[0]) > 10


def _refusal(folder: Path, target: Mapping[str, object]) -> str:
    """Why the engine can't ask this target; empty if it can."""
    folders = script_path()
    spec = run_spec(
        command="ask",
        target=target,
        script=find_script(SCRIPT, folders),
        script_path=folders,
        options={"query": "SELECT 1"},
        clients=1,
        seed=1,
    )
    outcome = run_engine(find_engine(), spec, listener=lambda *_: None, log=folder / "engine.log")
    return "" if outcome.failure is None else str(outcome.failure)


def _ports(driven: Driven) -> tuple[Mapping[str, Any], int, int]:
    """Its target, and the ports of the native protocol and of HTTP."""
    target: Mapping[str, Any] = driven.server.entry.target()
    session = driven.server.database.inside()
    assert isinstance(session, ClickhouseSession)
    return target, target["endpoints"][0]["tcp"]["port"], session.place.port


def test_a_wrong_port_is_recognised(driven: Driven, tmp_path: Path) -> None:
    target, native, http = _ports(driven)
    for driver, port, expected in (
        ("mysql", native, "is a ClickHouse server (native protocol), not a MySQL or MariaDB"),
        ("pgsql", native, "is a ClickHouse server (native protocol), not a PostgreSQL server"),
        ("clickhouse", http, "is an HTTP server, not a ClickHouse server (native protocol)"),
    ):
        place = {"tcp": {"host": "127.0.0.1", "port": port}}
        name = "postgresql" if driver == "pgsql" else driver
        wrong = {**target, "driver": name, "endpoints": [place]}
        assert expected in _refusal(tmp_path, wrong), driver


def test_settings_of_sessions_are_the_server_s(driven: Driven, tmp_path: Path) -> None:
    target, _, _ = _ports(driven)
    assert _refusal(tmp_path, {**target, "session": [["max_threads", "1"]]}) == ""
    refusal = _refusal(tmp_path, {**target, "session": [["no_such_setting", "1"]]})
    assert "Unknown setting no_such_setting" in refusal


def test_a_wrong_password_is_refused_in_the_server_s_words(driven: Driven, tmp_path: Path) -> None:
    _, native, http = _ports(driven)
    url = f"url:clickhouse://dbdyno:wrong@127.0.0.1:{native}/sbtest?http_port={http}"
    with open_server(url, {}, tmp_path) as server, pytest.raises(Exception, match="Wrong password"):
        server.start()
