"""SQLite's files against what SQLite itself says of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.sources.sqlite import COLLECTOR
from dbdyno.model import Missing


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "sbtest.db", isolation_level=None)) as opened:
        yield opened


def read(folder: Path) -> Mapping[str, float]:
    reader = COLLECTOR.open(Watched(kind="sqlite", data_folder=folder))
    assert reader is not None
    assert not isinstance(reader, Missing)
    return {one.metric: one.value for one in reader.sample()}


def pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def fill(connection: sqlite3.Connection, transactions: int) -> None:
    for _ in range(transactions):
        connection.execute("INSERT INTO t VALUES (randomblob(2000))")


def test_without_a_log_the_header_says_it(tmp_path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE t (b)")
    before = read(tmp_path)["changes"]
    fill(connection, 50)
    connection.execute("DELETE FROM t WHERE rowid > 10")

    now = read(tmp_path)

    assert now["changes"] - before == 51
    assert now["pages"] == pragma(connection, "page_count")
    assert now["free_pages"] == pragma(connection, "freelist_count") > 0
    assert now["page_bytes"] == pragma(connection, "page_size")
    assert now["database_bytes"] == now["pages"] * now["page_bytes"]
    assert 0 < now.get("kernel_cached_bytes", 1) <= now["database_bytes"] + 4096
    assert "log_bytes" not in now


def test_the_logs_frames_are_those_that_a_checkpoint_counts(
    tmp_path: Path, connection: sqlite3.Connection
) -> None:
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE t (b)")
    before = read(tmp_path)
    fill(connection, 40)

    full = read(tmp_path)
    _, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    after = read(tmp_path)

    assert full["changes"] - before["changes"] == 40
    assert (full["log_frames"], full["log_frames_copied"]) == (frames, 0)
    assert (after["log_frames"], after["log_frames_copied"]) == (frames, copied) == (frames, frames)
    assert after["log_bytes"] == 32 + frames * (24 + after["page_bytes"])


def test_changes_only_grow_whoever_opens_the_file(tmp_path: Path) -> None:
    reader = COLLECTOR.open(Watched(kind="sqlite", data_folder=make_logged(tmp_path)))
    assert reader is not None
    assert not isinstance(reader, Missing)
    told = []
    for _ in range(2):
        with closing(sqlite3.connect(tmp_path / "sbtest.db", isolation_level=None)) as opened:
            opened.execute("SELECT * FROM t").fetchall()
            fill(opened, 5)
            told += [one.value for one in reader.sample() if one.metric == "changes"]
        told += [one.value for one in reader.sample() if one.metric == "changes"]

    assert len(told) == 2, "nobody has it open: nothing to read"
    assert told[1] - told[0] >= 5


def make_logged(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "sbtest.db", isolation_level=None)) as opened:
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("CREATE TABLE t (b)")
    return folder


def test_other_kinds_have_no_such_files(tmp_path: Path) -> None:
    (tmp_path / "sbtest.db").touch()

    assert COLLECTOR.open(Watched(kind="postgresql", data_folder=tmp_path)) is None
    assert COLLECTOR.open(Watched(kind="sqlite")) is None
    assert read(tmp_path)["database_bytes"] == 0
