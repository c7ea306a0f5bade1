"""Connections of a study's clients: what can't be is told with its line, the rest is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_ways import assert_refused, study

from dbdyno.conduct.connection import run_target
from dbdyno.conduct.opening import open_study
from dbdyno.design import cells
from dbdyno.servers import open_server

URL = "url:mysql://u:p@db1/d"
MONGODB = "url:mongodb://u:p@db1/d"


@pytest.mark.parametrize(
    ("level", "provision", "told"),
    [
        ("connection = { tls = true }", "postgresql:18.4", "a Unix socket is never encrypted"),
        ('connection = { transport = "unix", tls = true }', "postgresql:18.4", "Unix socket"),
        (
            'host = { network = {mtu = 1500} }, connection = { transport = "unix" }',
            "postgresql:18.4",
            "over TCP",
        ),
        ('connection = { transport = "tcp" }', URL, "as its URL says"),
        ("connection = { compression = true }", "postgresql:18.4", "PostgreSQL has no compression"),
        ('connection = { compression = "zstd" }', "mariadb:11.4.5", "zlib only"),
        ('connection = { compression = "zstd" }', "mysql:5.6.14", "8.0.18"),
        ('connection = { compression = "snappy" }', "mysql:5.6.14", "by snappy"),
        ("connection = { compression = true }", "ferretdb:2.7", "FerretDB does not compress"),
        ('connection = { transport = "tcp", tls = true }', "mysql:5.6.14", "no TLS 1.2"),
        ('connection = { transport = "tcp" }', "sqlite", "`sqlite` accepts no connections"),
        ('connection = { compression = "lz4" }', "mariadb:11.4.5", "zlib only"),
        ('connection = { compression = "lz4" }', "mysql:5.6.14", "zlib or zstd, not by lz4"),
        ("connection = { compression = true }", "clickhouse@system", "not by zlib"),
        ('connection = { compression = "gzip" }', "mariadb:11.4.5", "expected true, false"),
        ("connection = { compress = true }", "mariadb:11.4.5", "unknown key `compress`"),
    ],
)
def test_what_can_not_be_is_told_with_its_line(
    level: str, provision: str, told: str, tmp_path: Path
) -> None:
    assert_refused(study(tmp_path, level, provision), told)


def test_what_is_said_for_all_cells_counts_unless_a_level_says_otherwise(tmp_path: Path) -> None:
    file = study(tmp_path, "connection = { tls = true, compression = false }", "mariadb:11.4.5")
    with file.open("a") as text:
        text.write('[connection]\ntransport = "tcp"\ncompression = true\n')
    loaded = open_study(str(file))

    assert [dict(cell.connection) for cell in cells(loaded.study)] == [
        {"transport": "tcp", "compression": "zlib"},
        {"transport": "tcp", "compression": False, "tls": True},
    ]


@pytest.mark.parametrize(
    ("level", "url", "mode", "compression"),
    [
        ("connection = { tls = true, compression = true }", URL, "require", "zlib"),
        ("connection = { tls = false }", URL, "disable", None),
        ("connection = {}", f"{URL}?ssl-mode=required", "require", None),
        ("connection = { compression = 'snappy' }", f"{MONGODB}?tls=true", "require", "snappy"),
        ("connection = {}", f"{MONGODB}?tls=true&compressors=zstd", "require", "zstd"),
        ("connection = { tls = true }", f"{URL}?ssl-mode=verify_identity", "verify-full", None),
    ],
)
def test_the_target_is_what_was_asked_for(
    level: str, url: str, mode: str, compression: str | None, tmp_path: Path
) -> None:
    loaded = open_study(str(study(tmp_path, level, url)))
    _, cell = cells(loaded.study)
    with open_server(cell.provision, {}, tmp_path) as server:
        target = run_target(server, cell)

    assert target["tls"] == {"mode": mode}
    assert target.get("compression") == compression
