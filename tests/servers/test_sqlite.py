"""SQLite in process: pragmas checked and effective, the file gone afterwards."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno.errors import LostError, ServerError
from dbdyno.servers import open_server


def test_pragmas_take_effect_and_are_told(tmp_path: Path) -> None:
    settings = {"journal_mode": "wal", "synchronous": "normal", "page_size": "8192"}

    with open_server("sqlite", settings, tmp_path) as server:
        server.start()
        target = server.entry.target()
        effective = server.database.settings()

        assert target["driver"] == "sqlite"
        assert target["pragmas"] == [
            ["page_size", "8192"],
            ["journal_mode", "wal"],
            ["synchronous", "normal"],
        ], "the size of a page can't change once the mode is wal"
        assert settings.items() <= effective.items()
        assert server.facts()["durability"] == "D1"
        assert server.database.size_bytes() >= 8192
        assert server.alive()
    assert list(tmp_path.iterdir()) == []


def test_the_file_takes_data(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()
        before = server.database.counters()["page_count"]
        with sqlite3.connect(str(server.entry.target()["path"])) as connection:
            connection.execute("CREATE TABLE t AS SELECT zeroblob(100000)")
        connection.close()

        assert server.database.counters()["page_count"] > before
        assert server.facts()["durability"] == "D2"


def test_a_file_by_its_url_is_used_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "some body's.db"
    provision = f"url:sqlite://{quote(str(file))}?journal_mode=wal"
    with open_server(provision, {}, tmp_path / "logs") as server:
        server.start()
        assert server.alive()
        assert (
            server.database.counters(),
            server.database.settings(),
            server.database.size_bytes(),
        ) == ({}, {}, 0)
        assert not file.exists(), "looking makes no file"
        assert server.entry.target()["path"] == str(file)
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE theirs (i INT)")
        connection.close()
        assert server.facts()["durability"] == "D2"
        assert server.database.settings()["journal_mode"] == "wal"
        assert server.database.tables() == {}, "they are somebody else's"
        assert server.database.contents("theirs", checksum=False).rows == 0
    assert file.exists()


def test_a_pragma_of_a_url_that_sqlite_would_ignore_is_refused(tmp_path: Path) -> None:
    provision = f"url:sqlite://{tmp_path}/a.db?journal_mode=wall"
    with (
        open_server(provision, {}, tmp_path) as server,
        pytest.raises(ServerError, match="can't be `wall`") as caught,
    ):
        server.start()
    assert "did you mean `wal`?" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("journal_mode", "wall", "did you mean `wal`?"),
        ("synchronous", "nromal", "did you mean `normal`?"),
        ("page_size", "5000", "a power of two"),
        ("journal_mod", "wal", "did you mean `journal_mode`?"),
    ],
)
def test_a_wrong_pragma_is_refused(tmp_path: Path, name: str, value: str, hint: str) -> None:
    with (
        open_server("sqlite", {name: value}, tmp_path) as server,
        pytest.raises(ServerError) as caught,
    ):
        server.start()

    assert hint in (caught.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_tables_are_told_as_statements_name_them(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()
        with sqlite3.connect(str(server.entry.target()["path"])) as connection:
            connection.execute("CREATE TABLE sqlites (id integer PRIMARY KEY AUTOINCREMENT)")
            connection.execute('CREATE TABLE "it""s" (id int)')
            connection.execute("INSERT INTO sqlites DEFAULT VALUES")
        assert server.database.tables() == {'it"s': 'main."it""s"', "sqlites": 'main."sqlites"'}
        assert server.database.contents('main."sqlites"', checksum=True).rows == 1


def test_a_session_inside_is_another_process_which_may_die(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()
        inside = server.database.inside()
        inside.rows("CREATE TABLE t (i INTEGER, c TEXT)")
        inside.rows("INSERT INTO t VALUES (1, 'a'), (2, NULL)")

        assert inside.rows("SELECT * FROM t") == [{"i": 1, "c": "a"}, {"i": 2, "c": None}]
        with pytest.raises(ServerError, match="no such table"):
            inside.rows("SELECT * FROM nowhere")
        inside.close()
        with pytest.raises(LostError):
            inside.rows("SELECT 1")
        server.node.restart(1.0)
        assert server.database.contents("t", checksum=False).rows == 2


def test_a_file_that_is_no_database_does_not_open(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()
        (file,) = server.database.table_files("t")
        file.write_bytes(b"no database at all" * 100)

        with pytest.raises(ServerError, match="not a database"):
            server.node.restart(1.0)


def test_the_engine_can_not_read_through_the_checksum_extension(tmp_path: Path) -> None:
    with (
        open_server("sqlite", {"checksum_verification": "on"}, tmp_path) as server,
        pytest.raises(ServerError, match="no checksum extension"),
    ):
        server.entry.target()
