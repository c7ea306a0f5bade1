"""What InnoDB counts only if asked: flushing by cause, and purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources.mysql import COLLECTOR
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server

ASKED = {"innodb_monitor_enable": "buffer_flush_%,buffer_LRU_%,purge_%"}
BY_CAUSE = {"flushed_adaptive", "flushed_idle", "flushed_sync", "flushed_neighbours"}
OF_PURGE = {"purge_rounds", "purged_deleted", "purged_updated", "purged_undo_pages"}
SERVERS = ("mysql:5.6", "mariadb@system")


def opened(server: Server) -> Readings:
    found = COLLECTOR.open(Watched(kind="mysql", ask=server.database.ask))
    assert found is not None and not isinstance(found, Missing)
    return found


def values(readings: Readings) -> dict[str, float]:
    return {one.metric: one.value for one in readings.sample()}


@pytest.mark.slow
@pytest.mark.parametrize("provision", SERVERS)
def test_what_is_turned_on_is_sampled(provision: str, tmp_path: Path) -> None:
    with open_server(provision, ASKED, tmp_path) as server:
        server.start()
        readings = opened(server)
        session = server.database.inside()
        session.rows("CREATE TABLE gone (i INT PRIMARY KEY)")
        session.rows("INSERT INTO gone VALUES (1), (2), (3)")
        session.rows("DELETE FROM gone")
        told = values(readings)
        (row,) = session.rows(
            "SELECT * FROM information_schema.INNODB_METRICS WHERE NAME = 'purge_invoked'"
        )
        later = values(readings)
        readings.close()
        session.close()

    assert OF_PURGE | BY_CAUSE - {"flushed_idle"} <= told.keys()
    assert told["purge_rounds"] <= float(str(row["COUNT"])) <= later["purge_rounds"]
    assert told.keys() <= {metric.name for metric in COLLECTOR.metrics}


@pytest.mark.slow
@pytest.mark.parametrize("provision", SERVERS)
def test_what_nobody_turned_on_is_no_zero(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        readings = opened(server)
        told = values(readings)
        readings.close()

    assert "history_list" in told
    assert not {"purged_undo_pages", "flushed_sync"} & told.keys()
