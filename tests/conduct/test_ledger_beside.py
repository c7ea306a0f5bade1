"""A ledger beside a load notices what is gone, and only that."""

from __future__ import annotations

import csv
import gzip
import select
import time
from pathlib import Path

import pytest

from dbdyno.conduct.ledger import TABLE, Ledger
from dbdyno.servers import open_server
from traces import LIMIT_S

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]


def test_acknowledged_rows_that_are_gone_are_counted(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path) as server:
        server.start()
        ledger = Ledger(server, server.entry.target(), 2)
        ledger.start()
        deadline = time.monotonic() + LIMIT_S
        while len(ledger.acknowledged_ns()) < 20 and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        ledger.stop()
        ledger.look()
        kept = ledger.lost_ns()
        session = server.database.inside()
        gone = session.rows(f"DELETE FROM {TABLE} WHERE id % 5 = 0 RETURNING id")
        session.close()
        ledger.look()
        lost = ledger.lost_ns()
        ledger.keep(tmp_path / "ledger.csv.gz", 0)

    assert len(ledger.acknowledged_ns()) >= 20
    assert list(kept) == []
    assert len(lost) == len(gone) > 0
    assert set(lost) <= set(ledger.acknowledged_ns())
    with gzip.open(tmp_path / "ledger.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    assert {row["row"] for row in rows if row["found"] == "0" and row["acknowledged_ns"]} == {
        str(row["id"]) for row in gone
    }
