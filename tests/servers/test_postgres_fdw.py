"""Tables spread over nodes as they are created: every row on one of them, indexes on all."""

from __future__ import annotations

from pathlib import Path

import pytest
from sharded import rows

from dbdyno.servers import open_server

# Three servers, and only this topology's own module reaches it.
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.usefixtures("clean")]

INDEXES = "SELECT count(*) AS number FROM pg_indexes WHERE tablename = 't'"


def test_rows_are_spread_over_nodes_and_dropped_with_their_table(tmp_path: Path) -> None:
    with open_server(
        "postgresql@system", {}, tmp_path, topology={"name": "postgres-fdw"}
    ) as server:
        server.start()
        coordinator, *nodes = (member.server for member in server.members)
        rows(
            server,
            "CREATE TABLE t (id SERIAL, k int NOT NULL DEFAULT 7, PRIMARY KEY (id))",
            "CREATE INDEX t_k ON t (k)",
            "INSERT INTO t (k) SELECT g FROM generate_series(1, 1000) AS g",
            "UPDATE t SET k = 0 WHERE id <= 10",
        )
        whole = coordinator.database.contents("t", checksum=True)
        parts = [node.database.contents("t", checksum=False).rows for node in nodes]
        indexes = [rows(node, INDEXES)[0]["number"] for node in nodes]
        tables = server.database.tables()
        rows(server, "DROP TABLE t")
        left = [node.database.tables() for node in nodes]

    assert whole.rows == sum(parts) == 1000
    assert min(parts) > 300
    assert indexes == [2, 2]
    assert list(tables) == ["t"]
    assert left == [{}, {}]
