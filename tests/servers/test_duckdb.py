"""DuckDB's file, asked through its own program: sessions, settings, contents, and its end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.errors import LostError, ServerError
from dbdyno.servers import Server, fetch, open_server
from dbdyno.servers.registry import absent_target
from traces import nothing_left

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with nothing_left(), open_server("duckdb:1.5.6", {"threads": "2"}, tmp_path) as server:
        server.start()
        yield server


def test_a_session_answers_with_rows_or_with_the_databases_own_words(server: Server) -> None:
    session = server.database.inside()
    try:
        assert session.rows("CREATE TABLE t (a INTEGER, b VARCHAR)") == []
        session.rows("INSERT INTO t VALUES (1, 'it''s'), (2, NULL)")
        with pytest.raises(ServerError, match=r"refused `SELEC 1`: Parser Error"):
            session.rows("SELEC 1")
        assert session.rows("SELECT a, b FROM t ORDER BY a") == [
            {"a": 1, "b": "it's"},
            {"a": 2, "b": None},
        ]
        assert session.rows("SELECT a FROM t WHERE a > 2") == []
    finally:
        session.close()
    with pytest.raises(LostError, match="closed"):
        session.rows("SELECT 1")


def test_tables_and_contents_are_those_of_the_file(server: Server) -> None:
    session = server.database.inside()
    session.rows("CREATE TABLE t (a INTEGER, b VARCHAR)")
    session.rows("INSERT INTO t VALUES (7, 'x')")
    session.close()
    server.stop()

    digest = hashlib.md5(b"7\x1fx", usedforsecurity=False).hexdigest()[:16]
    assert server.database.tables() == {"t": 'main."t"'}
    assert server.database.contents('main."t"', checksum=True).checksum == digest
    assert server.database.contents('main."t"', checksum=False).rows == 1
    assert server.database.settings()["threads"] == "2"
    assert server.facts()["version"] == "1.5.6"


def test_an_unknown_setting_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with (
        nothing_left(),
        open_server("duckdb:1.5.6", {"treads": "2"}, tmp_path) as server,
        pytest.raises(ServerError, match=r'unrecognized .* "treads" Did you mean: "threads"'),
    ):
        server.start()


def test_the_engine_gets_its_file_its_library_and_its_settings(server: Server) -> None:
    target = server.entry.target()

    assert target["settings"] == [["threads", "2"]]
    assert Path(str(target["path"])).exists()
    assert Path(str(target["library"])).stat().st_size > 10_000_000
    assert absent_target("duckdb", Path("/nowhere")).keys() < target.keys()


def test_counters_are_blocks_of_the_file(server: Server) -> None:
    session = server.database.inside()
    session.rows("CREATE TABLE t AS SELECT hash(range) AS h FROM range(200000)")
    session.close()
    server.stop()

    counters = server.database.counters()
    assert counters["total_blocks"] == counters["used_blocks"] + counters["free_blocks"]
    assert counters["used_blocks"] > 3


def test_an_installed_one_without_its_library_is_refused(tmp_path: Path) -> None:
    programs = fetch("duckdb:1.5.6")
    assert programs is not None
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "duckdb").symlink_to(programs / "duckdb")
    with nothing_left(), open_server(f"duckdb@path:{installed}", {}, tmp_path) as other:
        other.start()
        with pytest.raises(ServerError, match=r"has no libduckdb\.so, which the engine needs"):
            other.entry.target()
        (installed / "libduckdb.so").touch()
        assert other.entry.target()["library"] == str(installed / "libduckdb.so")
