"""What an etcd tells of itself: its log, its database, its leader."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.exposition import parse_metrics
from dbdyno.collect.sources.etcd import COLLECTOR
from dbdyno.guard.launch import ORDINARY
from dbdyno.model import Missing
from dbdyno.servers.nodes.etcd import ETCD, Etcd
from traces import nothing_left

nightly = pytest.mark.nightly  # `make nightly` installs etcd.
PUTS = 20


def test_values_are_read_by_name_and_by_labels() -> None:
    text = '# HELP a x\n# TYPE a counter\na{b="c d"} 1\na{b="e"} 2.5\nplain 1e+06\nodd NaN?\n\n'
    assert parse_metrics(text) == {
        "a": 3.5,
        'a{b="c d"}': 1.0,
        'a{b="e"}': 2.5,
        "plain": 1_000_000.0,
    }


def test_a_server_without_an_etcd_has_nothing_to_read() -> None:
    assert COLLECTOR.open(Watched(kind="postgresql")) is None


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    with nothing_left():
        etcd = Etcd(tmp_path, ORDINARY)
        try:
            etcd.start()
            yield etcd
        finally:
            etcd.close()


def put(etcd: Etcd, number: int) -> None:
    """Writes a key through etcd's JSON gateway, which returns once the entry is synced."""
    connection = http.client.HTTPConnection(etcd.place, timeout=30)
    try:
        connection.request("POST", "/v3/kv/put", json.dumps({"key": "YQ==", "value": "YQ=="}))
        assert connection.getresponse().status == http.client.OK, number
    finally:
        connection.close()


def read(readings: Readings) -> Mapping[str, float]:
    return {reading.metric: reading.value for reading in readings.sample()}


@pytest.mark.slow
@nightly
def test_writes_are_seen_in_log_and_leader(etcd: Etcd) -> None:
    put(etcd, 0)  # Its port is open before it has elected itself.
    readings = COLLECTOR.open(Watched(exposed={ETCD: [etcd.place]}))
    assert readings is not None and not isinstance(readings, Missing)
    before = read(readings)
    for number in range(PUTS):
        put(etcd, number)
    after = read(readings)

    assert after.keys() == {metric.name for metric in COLLECTOR.metrics}
    grown = {name: after[name] - before[name] for name in after}
    assert grown["committed"] >= PUTS
    assert grown["applied"] >= PUTS
    assert grown["log_syncs"] >= PUTS
    assert grown["log_sync_s"] > 0
    assert 0 <= grown["slow_log_syncs"] <= grown["log_syncs"]
    assert (after["has_leader"], after["pending"], grown["leader_changes"]) == (1, 0, 0)
    assert 0 < after["database_used_bytes"] <= after["database_bytes"]


@pytest.mark.slow
@nightly
def test_an_etcd_that_is_gone_is_a_gap_and_not_an_end(etcd: Etcd) -> None:
    readings = COLLECTOR.open(Watched(exposed={ETCD: [etcd.place]}))
    assert readings is not None and not isinstance(readings, Missing)
    etcd.stop()
    with pytest.raises(ConnectionRefusedError):
        readings.sample()
    missing = COLLECTOR.open(Watched(exposed={ETCD: [etcd.place]}))
    assert isinstance(missing, Missing) and "etcd's metrics can't be read" in missing.what
