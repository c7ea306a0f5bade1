"""ClickHouse driven over compressed and encrypted connections, on the real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno.servers import open_server
from dbdyno.servers.nodes.daemon import free_port
from driven import HERE, Driven, open_driven

pytestmark = pytest.mark.slow

SCRIPT = str(HERE / "clickhouse.lua")
LOADED = "SELECT count(), sum(id), sum(d), uniqExact(t), countIf(day IS NULL) FROM loaded"
METHODS = ("lz4", "zstd")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with open_driven("clickhouse@system", tmp_path_factory.mktemp("clickhouse")) as opened:
        yield opened


@pytest.mark.parametrize("method", METHODS)
def test_blocks_are_compressed_both_ways(plain: Driven, method: str) -> None:
    packed = replace(plain, connection={"compression": method})
    called, usual = packed.call(SCRIPT, "large"), plain.call(SCRIPT, "large")

    assert (called.complaint, called.lines) == ("", usual.lines)
    assert called.summary.total.bytes_received < usual.summary.total.bytes_received / 1.5
    sizes = []
    for driven in (packed, plain):
        filled = driven.fill(SCRIPT, loaders=0, rows=20_000)
        assert filled.complaint == ""
        sizes.append(filled.summary.total.bytes_sent)
        assert driven.call(SCRIPT, "ask", query=LOADED).lines == [
            "20000\t200010000\t-200015000.00\t20000\t2857"
        ]
        driven.call(SCRIPT, "cleanup")
    assert sizes[0] < sizes[1] / 1.5


@pytest.mark.parametrize("method", METHODS)
def test_loaders_compress_and_errors_leave_the_session_as_it_is(plain: Driven, method: str) -> None:
    packed = replace(plain, connection={"compression": method})
    assert packed.fill(SCRIPT, loaders=3, rows=5000).complaint == ""
    assert packed.call(SCRIPT, "ask", query="SELECT count() FROM loaded").lines == ["5000"]
    packed.call(SCRIPT, "cleanup")

    failed = packed.call(SCRIPT, "fail", first=2)
    plain.call(SCRIPT, "cleanup")
    usual = plain.call(SCRIPT, "fail", first=2)
    plain.call(SCRIPT, "cleanup")
    assert failed.complaint == ""
    assert failed.lines == usual.lines
    assert failed.summary.total.reconnects == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_syntax_error_is_the_server_s(plain: Driven, method: str) -> None:
    packed = replace(plain, connection={"compression": method})

    assert "Syntax error" in packed.call(SCRIPT, "ask", query="SELEC 1").complaint


def test_a_method_that_it_has_not_is_refused(plain: Driven) -> None:
    called = replace(plain, connection={"compression": "zlib"}).call(SCRIPT, "large")

    assert "compression `zlib` is not supported; `lz4` and `zstd` are" in called.complaint


def test_everything_is_encrypted(tmp_path: Path) -> None:
    with open_driven("clickhouse@system", tmp_path, tls=True) as driven:
        assert driven.server.entry.target()["tls"] == {"mode": "require"}
        for connection in ({}, {"compression": "lz4"}):
            called = replace(driven, connection=connection).call(SCRIPT, "large")
            assert (called.complaint, called.lines) == ("", ["200000\t19999900000"])
        assert driven.fill(SCRIPT, loaders=2).complaint == ""
        assert driven.server.database.contents("loaded", checksum=False).rows == 3000
        refused = replace(driven, connection={"tls": {"mode": "disable"}}).call(SCRIPT, "large")
        assert refused.complaint


def test_a_server_by_url_is_reached_by_tls(tmp_path: Path) -> None:
    settings = {"server.https_port": str(free_port())}
    with open_server("clickhouse@system", settings, tmp_path / "own", tls=True) as own:
        own.start()
        target: Any = own.entry.target()
        port = target["endpoints"][0]["tcp"]["port"]
        url = (
            f"url:clickhouses://{target['user']}:{target['password']}@127.0.0.1:{port}/"
            f"{target['database']}?http_port={settings['server.https_port']}&compression=zstd"
        )
        with open_server(url, {}, tmp_path / "other") as running:
            running.start()
            assert str(running.database.facts()["version"]).startswith("18.16")
            driven = Driven(running, "clickhouse", tmp_path)
            called = driven.call(SCRIPT, "large")

    assert (called.complaint, called.lines) == ("", ["200000\t19999900000"])
