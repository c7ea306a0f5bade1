"""What servers count by table: changes, HOT updates, dead rows, sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.registry import collectors
from dbdyno.collect.sources.tables import COLLECTOR
from dbdyno.conduct.run.served import session_inside
from dbdyno.model import Missing, SampledSession, Session
from dbdyno.servers import Server, open_server
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


def with_table(
    provision: str, folder: Path, work: Callable[[Session], None]
) -> tuple[dict[str, float], dict[str, float]]:
    """The readings before and after some work on a table of `ROWS` rows."""
    kind = provision.partition("@")[0].partition(":")[0]
    with open_server(provision, {}, folder) as server:
        server.start()
        session = server.database.inside()
        session.rows("CREATE TABLE acc (id INT PRIMARY KEY, n INT NOT NULL, pad CHAR(80))")
        values = ",".join(f"({number}, 0, 'x')" for number in range(ROWS))
        session.rows(f"INSERT INTO acc VALUES {values}")
        before = readings(server, kind, provision)
        work(session)
        after = readings(server, kind, provision)
        session.close()
    return before, after


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
    assert 0 < values["dead_rows"] <= 49  # pages are pruned now and then
    assert values["table_bytes"] > 0
    assert values["index_bytes"] > 0


@pytest.mark.slow
def test_mysql_s_sizes_are_by_table(tmp_path: Path) -> None:
    before, after = with_table("mariadb@system", tmp_path, updates)

    assert before["table_bytes"] > 0
    assert {"live_rows", "index_bytes"} <= after.keys()
    assert after.keys() <= {metric.name for metric in COLLECTOR.metrics}


def test_only_studies_that_ask_for_it_have_it() -> None:
    assert COLLECTOR not in collectors("run", [])
    assert COLLECTOR in collectors("run", ["tables"])
    assert COLLECTOR.open(Watched(kind="sqlite")) is None
