"""The delay of changes that `innodb_max_purge_lag` makes, as InnoDB's own metric tells it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources import mysql
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server

COUNTED = {
    "innodb_monitor_enable": "purge_dml_delay_usec",
    "innodb_max_purge_lag": "1",
    "innodb_max_purge_lag_delay": "20000",
}
LEAST_US = 5000
"""By InnoDB's formula, of any delay there is."""


def opened(server: Server, kind: str) -> Readings:
    found = mysql.COLLECTOR.open(Watched(kind=kind, ask=server.database.ask))
    assert found is not None
    assert not isinstance(found, Missing)
    return found


def read(reader: Readings) -> Mapping[str, float]:
    return {one.metric: one.value for one in reader.sample()}


@pytest.mark.slow
def test_changes_are_delayed_where_purging_lags(tmp_path: Path) -> None:
    with open_server("mysql:5.6.14", COUNTED, tmp_path) as server:
        server.start()
        reader, reads, writes = (
            opened(server, "mysql"),
            server.database.inside(),
            server.database.inside(),
        )
        writes.rows("CREATE TABLE lagging (n INTEGER) ENGINE=InnoDB")
        writes.rows("INSERT INTO lagging VALUES (0)")
        assert read(reader)["dml_delay_us"] == 0
        # Old row versions that somebody may still read can't be purged.
        reads.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for number in range(20):
            writes.rows(f"UPDATE lagging SET n = {number + 1}")
        # Computed at each batch of purging, every second or so.
        delays = (read(reader)["dml_delay_us"] for _ in range(20_000))
        delay_us = next(filter(None, delays), 0)
        for session in (reads, writes, reader):
            session.close()

    assert LEAST_US <= delay_us <= 20_000


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["mysql:5.6.14", "mariadb:11.8"])
def test_the_metric_is_read_where_it_is_turned_on(provision: str, tmp_path: Path) -> None:
    kind = provision.partition(":")[0]
    for settings in (COUNTED, {}):
        with open_server(provision, settings, tmp_path / str(len(settings))) as server:
            server.start()
            reader = opened(server, kind)
            assert ("dml_delay_us" in read(reader)) == bool(settings)
            reader.close()
