"""ClickHouse: the lab's own session, a server of a run, its files, its collector."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.sources.clickhouse import COLLECTOR
from dbdyno.errors import ConnectError, ServerError
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.databases.clickhouse.configuration import document, split
from dbdyno.servers.databases.clickhouse.kind import KIND
from dbdyno.servers.databases.clickhouse.session import ClickhouseSession, Place
from traces import nothing_left, wait_until_dead

SYSTEM = "clickhouse@system"
slow = pytest.mark.slow


def test_settings_go_into_the_file_that_has_them() -> None:
    server, queries = split(
        {"server.mark_cache_size": "1", "merge_tree.parts_to_throw_insert": "9", "max_threads": "2"}
    )
    assert queries == {"max_threads": "2"}
    assert document(server) == (
        "<yandex><mark_cache_size>1</mark_cache_size><merge_tree><parts_to_throw_insert>9"
        "</parts_to_throw_insert></merge_tree></yandex>"
    )
    assert document({"a.b": "<&>"}) == "<yandex><a><b>&lt;&amp;&gt;</b></a></yandex>"


def test_what_it_can_t_do_is_said_before() -> None:
    provision = parse_provision("url:clickhouse://h")
    assert KIND.refuses(provision, {"transport": "tcp"}) is None
    assert KIND.refuses(provision, {"compression": "zstd", "tls": True}) is None
    assert "lz4 or zstd" in (KIND.refuses(provision, {"compression": "zlib"}) or "")


def test_a_url_says_how_it_is_reached(tmp_path: Path) -> None:
    def target(url: str) -> Mapping[str, object]:
        with open_server(f"url:{url}", {}, tmp_path) as server:
            return server.entry.target()

    plain = target("clickhouse://me:s3cret@db.example/shop?compression=lz4")
    assert plain["endpoints"] == [{"tcp": {"host": "db.example", "port": 9000}}]
    assert (plain["compression"], plain.get("tls")) == ("lz4", None)
    encrypted = target("clickhouses://db.example/")
    assert encrypted["endpoints"] == [{"tcp": {"host": "db.example", "port": 9440}}]
    assert (encrypted["tls"], encrypted.get("compression")) == ({"mode": "require"}, None)
    with pytest.raises(ServerError, match="compression=gzip") as refused:
        target("clickhouse://db.example/?compression=gzip")
    assert "lz4, zstd" in (refused.value.hint or "")


def test_a_folder_without_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="holds no ClickHouse"):
        parse_provision(f"clickhouse@path:{tmp_path}")


def test_nobody_at_the_port_is_said_with_the_address() -> None:
    with pytest.raises(ConnectError, match=r"HTTP port at 127\.0\.0\.1:1: "):
        ClickhouseSession(Place(port=1)).connection()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with nothing_left(), open_server(SYSTEM, {"max_threads": "1"}, tmp_path) as server:
        server.start()
        yield server


@slow
def test_a_server_of_a_run(server: Server) -> None:
    facts = server.facts()
    assert (facts["kind"], facts["source"], facts["durability"]) == ("clickhouse", "system", "D0")
    assert str(facts["version"]).startswith("18.16")
    settings = server.database.settings()
    assert settings["max_threads"] == "1"
    assert int(settings["merge_tree.parts_to_throw_insert"]) > 0
    capacity = server.entry.capacity()
    assert capacity.connections is not None
    assert 4000 < capacity.connections <= 4096

    session = server.database.inside()
    assert session.rows("SELECT 1 AS a, 'x' AS b, toUInt64(18446744073709551615) AS c") == [
        {"a": 1, "b": "x", "c": 18446744073709551615}
    ]
    created = session.rows(
        "CREATE TABLE t (a UInt8, b Nullable(String)) ENGINE = MergeTree ORDER BY a"
    )
    assert created == []
    session.rows("INSERT INTO t VALUES (1, 'x'), (2, NULL)")
    with pytest.raises(ServerError, match=r"^Code: 60, .*doesn't exist"):
        session.rows("SELECT * FROM absent")
    database = server.database
    assert database.tables() == {"t": "t"}
    counted = database.contents("t", checksum=True)
    assert (counted.rows, database.contents("t", checksum=False).rows) == (2, 2)
    session.rows("INSERT INTO t VALUES (3, 'x')")
    assert database.contents("t", checksum=True).checksum != counted.checksum
    assert any(file.name == "primary.idx" for file in database.table_files("t"))
    assert database.size_bytes() > 0

    server.node.stop()
    server.node.restart(60)
    assert database.contents("t", checksum=False).rows == 3


@slow
def test_a_server_without_settings_starts(tmp_path: Path) -> None:
    with nothing_left(), open_server(SYSTEM, {}, tmp_path) as server:
        server.start()

        assert server.database.facts()["version"]


@slow
def test_a_killed_server_is_noticed(server: Server) -> None:
    (pid, *_) = server.node.processes()
    os.kill(pid, signal.SIGKILL)
    wait_until_dead(server)
    with pytest.raises(ServerError, match="killed by signal 9"):
        server.check()
    with pytest.raises(ConnectError):
        server.database.counters()


@slow
def test_a_setting_that_it_does_not_know_ends_the_start_in_its_words(tmp_path: Path) -> None:
    with (
        nothing_left(),
        open_server(SYSTEM, {"no_such_setting": "1"}, tmp_path) as server,
        pytest.raises(ServerError, match="no_such_setting"),
    ):
        server.start()


@slow
def test_its_events_and_metrics_are_sampled(server: Server) -> None:
    readings = COLLECTOR.open(Watched(kind="clickhouse", ask=server.database.ask))
    assert readings is not None
    assert not isinstance(readings, Missing)
    before = {reading.metric: reading.value for reading in readings.sample()}
    session = server.database.inside()
    session.rows("CREATE TABLE s (a UInt32) ENGINE = MergeTree ORDER BY a")
    session.rows("INSERT INTO s SELECT number FROM system.numbers LIMIT 1000")
    assert session.rows("SELECT sum(a) AS a FROM s") == [{"a": 499500}]
    after = {reading.metric: reading.value for reading in readings.sample()}
    readings.close()

    grown = {name: after[name] - before[name] for name in ("queries", "inserts", "rows_inserted")}
    assert grown == {"queries": 4, "inserts": 1, "rows_inserted": 1000}
    assert after["marks_read"] > before["marks_read"]
    assert after["decompressed_bytes"] - before["decompressed_bytes"] >= 4000
    assert "rows_read" not in after  # 18.16 does not count them.
    assert after["merges_running"] >= 0
    assert after.keys() <= {metric.name for metric in COLLECTOR.metrics}
    assert COLLECTOR.open(Watched(kind="mysql", ask=server.database.ask)) is None
