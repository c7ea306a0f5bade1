"""`dbdyno fetch` and `servers`: what is told of what is here and of what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.cli import call


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is here: one server of a suite, already unpacked."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    unpacked = tmp_path / "debian" / "sid_mysql-server-core_9.7.4"
    (unpacked / "content").mkdir(parents=True)
    archive = {"package": "p", "file": "f", "sha256": "0", "verified_by": "v"}
    manifest = json.dumps({**archive, "download_bytes": 49_800_000})
    (unpacked / "manifest.json").write_text(manifest)
    return tmp_path


def test_what_is_here_is_found_without_a_network(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(cache))

    assert call(["fetch", "mysql:9.7", "sqlite"]) == 0

    told = capsys.readouterr()
    assert told.out == f"{cache}/debian/sid_mysql-server-core_9.7.4/content/usr/sbin\n"
    assert told.err == ""


def test_servers_tells_sizes_and_what_is_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["servers"]) == 0

    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert told["mysql:9.7.4@sid"].endswith("ready, fetched, 50 MB")
    assert "to be downloaded, about 325 MB" in told["mysql:5.6.14@maven"]
    assert "to be downloaded, about 10 MB" in told["tool:rocksdb-tools:6.11.4@bullseye"]


def test_what_there_is_not_is_answered_with_what_is_near(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(cache))

    assert call(["fetch", "postgresql:8@maven"]) == 4

    assert "`postgresql:9.6.24@maven`" in capsys.readouterr().err
