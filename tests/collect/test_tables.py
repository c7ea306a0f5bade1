"""What servers count by table: changes, HOT updates, dead rows, sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.collect import Sampler, Watched
from dbdyno.collect.collector import InPart
from dbdyno.collect.registry import collectors
from dbdyno.collect.sources.tables import COLLECTOR
from dbdyno.conduct.run.served import session_inside
from dbdyno.model import Missing, SampledSession, Session
from dbdyno.servers import Server, open_server
from moving import fetch_or_skip
from traces import LIMIT_S

ROWS = 500


def readings(server: Server, kind: str, provision: str) -> dict[str, float]:
    """Of the table `acc`, by metric."""

    def inside() -> SampledSession | None:
        return session_inside(server, provision)

    opened = COLLECTOR.open(Watched(kind=kind, inside=inside))
    assert opened is not None and not isinstance(opened, Missing), opened
    values = {each.metric: each.value for each in opened.sample() if each.instance == "acc"}
    opened.close()
    return values


def grown(
    provision: str, settings: Mapping[str, str], folder: Path, work: Callable[[Session], None]
) -> dict[str, float]:
    """How much the readings grew by some work on a table of `ROWS` rows."""
    kind = provision.partition("@")[0].partition(":")[0]
    with open_server(provision, settings, folder) as server:
        server.start()
        session = server.database.inside()
        session.rows("CREATE TABLE acc (id INT PRIMARY KEY, n INT NOT NULL, pad CHAR(80))")
        values = ",".join(f"({number}, 0, 'x')" for number in range(ROWS))
        session.rows(f"INSERT INTO acc VALUES {values}")
        before = readings(server, kind, provision)
        work(session)
        after = readings(server, kind, provision)
        session.close()
    assert after["table_bytes"] > 0
    assert {"live_rows", "index_bytes"} <= after.keys() <= {one.name for one in COLLECTOR.metrics}
    return {name: value - before[name] for name, value in after.items()}


def updates(session: Session) -> None:
    """One row at a time, as an application does."""
    for number in range(50):
        session.rows(f"UPDATE acc SET n = n + 1 WHERE id = {number}")


@pytest.mark.slow
def test_postgresql_counts_updates_that_are_hot_and_rows_that_are_dead(tmp_path: Path) -> None:
    provision, kind = "postgresql@system", "postgresql"
    with open_server(provision, {"autovacuum": "off"}, tmp_path) as server:
        server.start()
        session = server.database.inside()
        session.rows("CREATE TABLE acc (id INT PRIMARY KEY, n INT NOT NULL) WITH (fillfactor = 40)")
        session.rows(f"INSERT INTO acc SELECT i, 0 FROM generate_series(1, {ROWS}) i")
        updates(session)
        session.close()  # a session reports what it counted when it ends, at the latest
        values: dict[str, float] = {}
        deadline = time.monotonic() + LIMIT_S
        while values.get("updates", 0) < 49:
            assert time.monotonic() < deadline, values
            values = readings(server, kind, provision)

    assert values["updates"] == 49
    assert values["hot_updates"] == 49
    assert values["inserts"] == ROWS
    assert values["changes"] == ROWS + 49
    assert values["rows_read"] >= 49
    assert 0 < values["dead_rows"] <= 49  # pages are pruned now and then
    assert values["table_bytes"] > 0
    assert values["index_bytes"] > 0


def changes(session: Session) -> None:
    """50 rows updated and 20 more left as they are, 10 deleted, 3 inserted, 5 read."""
    updates(session)
    session.rows("UPDATE acc SET n = n WHERE id BETWEEN 100 AND 119")
    session.rows(f"DELETE FROM acc WHERE id >= {ROWS - 10}")
    session.rows(f"INSERT INTO acc VALUES ({ROWS}, 1, 'y'), ({ROWS + 1}, 1, 'y')")
    session.rows(f"REPLACE INTO acc VALUES ({ROWS + 2}, 1, 'y')")
    for number in range(5):
        session.rows(f"SELECT n FROM acc WHERE id = {number}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provision", "settings"),
    [("mariadb@system", {"performance_schema": "ON"}), ("mysql:5.6.14@maven", {})],
)
def test_mysql_counts_rows_by_table(
    provision: str, settings: Mapping[str, str], tmp_path: Path
) -> None:
    counts = grown(provision, settings, tmp_path, changes)

    assert counts["updates"] == 50
    assert counts["deletes"] == 10
    assert counts["inserts"] == 3
    assert counts["changes"] == 63
    assert counts["rows_read"] >= 50 + 20 + 10 + 5  # and the rows beside those of a range


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["mariadb@system", "mariadb:10.2.11@maven"])
def test_mariadb_counts_changed_rows_by_its_statistics_of_users(
    provision: str, tmp_path: Path
) -> None:
    counts = grown(provision, {"userstat": "ON"}, tmp_path, changes)

    assert counts["changes"] == 63
    assert counts["rows_read"] >= 50 + 20 + 10 + 5
    assert "updates" not in counts


@pytest.mark.slow
@pytest.mark.nightly
def test_newer_mariadb_counts_inserts_updates_and_deletes_apart(tmp_path: Path) -> None:
    fetch_or_skip("mariadb:11.8@debian")
    counts = grown("mariadb:11.8@debian", {"userstat": "ON"}, tmp_path, changes)

    assert counts["updates"] == 50
    assert counts["deletes"] == 10
    assert counts["inserts"] == 3
    assert counts["changes"] == 63


@pytest.mark.slow
def test_a_mariadb_that_counts_no_rows_has_sizes_and_says_what_is_missing(tmp_path: Path) -> None:
    counts = grown("mariadb@system", {}, tmp_path / "sizes", changes)
    assert "changes" not in counts

    with open_server("mariadb@system", {}, tmp_path / "why") as server:
        server.start()
        inside = lambda: session_inside(server, "mariadb@system")  # noqa: E731
        with Sampler([COLLECTOR], Watched(kind="mariadb", inside=inside)) as sampler:
            sampler.edge()
        assert "userstat" in sampler.missing["tables"].cure
        assert sampler.costs()["tables"].samples > 0


@pytest.mark.slow
def test_a_role_that_may_not_read_counts_gets_sizes(tmp_path: Path) -> None:
    with open_server("mariadb@system", {"performance_schema": "ON"}, tmp_path) as server:
        server.start()
        session = server.database.inside()
        session.rows("CREATE TABLE acc (id INT PRIMARY KEY)")
        session.rows("CREATE USER reader IDENTIFIED BY 'r'")
        session.rows("GRANT SELECT ON sbtest.* TO reader")
        target: Any = server.entry.target("tcp")
        port = target["endpoints"][0]["tcp"]["port"]
        url = f"url:mariadb://reader:r@127.0.0.1:{port}/sbtest"
        with open_server(url, {}, tmp_path / "reader") as seen:
            seen.start()
            opened = COLLECTOR.open(Watched(kind="mariadb", inside=seen.database.ask))
            assert isinstance(opened, InPart)
            assert opened.lacks is not None
            assert "may not read" in opened.lacks.what
            assert {one.metric for one in opened.sample()} >= {"table_bytes", "live_rows"}
            opened.close()
        session.close()


def test_only_studies_that_ask_for_it_have_it() -> None:
    assert COLLECTOR not in collectors("run", [])
    assert COLLECTOR in collectors("run", ["tables"])
    assert COLLECTOR.open(Watched(kind="sqlite")) is None
