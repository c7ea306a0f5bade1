"""Tables spread over nodes once they are loaded: every row on one of them, and none lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from sharded import rows

from dbdyno.conduct.members import require_agreement
from dbdyno.servers import open_server
from traces import LIMIT_S

# Three servers, and only this topology's own module reaches it.
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.usefixtures("clean")]

# With Spider, without a package that has to be installed.
MARIADB = "mariadb:10.11@bookworm"
ENGINE = "SELECT ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_NAME = 't'"
INDEXES = "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_NAME = 't'"
COUNT = "SELECT COUNT(*) AS number FROM t WHERE k = 0"


def test_loaded_rows_are_spread_over_nodes(tmp_path: Path) -> None:
    with open_server(MARIADB, {}, tmp_path, topology={"name": "spider"}) as server:
        server.start()
        coordinator, *nodes = (member.server for member in server.members)
        rows(
            server,
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT DEFAULT 7, KEY (k))",
            "INSERT INTO t (k) SELECT seq FROM seq_1_to_1000",
            "CREATE TABLE pairs (a INT, b VARCHAR(9), c INT, PRIMARY KEY (a, b))",
            "INSERT INTO pairs SELECT seq, CONCAT('b', seq), seq FROM seq_1_to_100",
            "CREATE TABLE keyless (id INT)",
        )
        loaded = coordinator.database.contents("t", checksum=True)
        require_agreement(server, "none", "after loading")
        spread = coordinator.database.contents("t", checksum=True)
        rows(server, "UPDATE t SET k = 0 WHERE id <= 10", "INSERT INTO t (k) VALUES (0), (0)")
        changed = [rows(node, COUNT)[0]["number"] for node in nodes]
        parts = [node.database.contents("t", checksum=False).rows for node in nodes]
        pairs = [node.database.contents("pairs", checksum=False).rows for node in nodes]
        engine = rows(server, ENGINE)[0]["engine"]
        indexes = [{row["INDEX_NAME"] for row in rows(node, INDEXES)} for node in nodes]
        tables = [set(node.database.tables()) for node in nodes]
        whole = set(server.database.tables())

        server.node.stop()
        server.node.restart(LIMIT_S)
        again = coordinator.database.contents("t", checksum=False).rows

    assert loaded == spread
    assert engine == "SPIDER"
    assert sum(parts) == again == 1002
    assert max(parts) - min(parts) <= 2
    assert sum(changed) == 12
    assert sum(pairs) == 100
    assert indexes == [{"PRIMARY", "k"}] * 2
    assert tables == [{"t", "pairs"}] * 2
    assert whole == {"t", "pairs", "keyless"}
