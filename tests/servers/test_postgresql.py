"""Real PostgreSQL servers of every source: started, asked, stopped, and gone without a trace."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest
from kinds import connect_postgresql as connect
from kinds import postmaster

from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server, parse_provision
from traces import LIMIT_S, descendants, nothing_left, wait_until_gone

pytestmark = pytest.mark.slow

VERSIONS = {
    "postgresql:18.4@wheel": 18_00_04,
    "postgresql:16.2@wheel": 16_00_02,
    "postgresql:18.0.0@maven": 18_00_00,
    "postgresql:14.20.0@maven": 14_00_20,
    "postgresql:9.6.24@maven": 9_06_24,
}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test leaves the machine as it found it."""
    with nothing_left():
        yield


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with open_server("postgresql:18.4", {}, tmp_path) as server:
        server.start()
        yield server


@pytest.mark.parametrize("provision", [*VERSIONS, "postgresql@system"])
def test_every_source_gives_a_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {"shared_buffers": "32MB"}, tmp_path) as server:
        server.start()
        facts = server.facts()
        for transport in ("unix", "tcp"):
            with connect(server.entry.target(transport)) as connection:
                shown = connection.execute("SHOW shared_buffers").fetchone()

        assert shown == ("32MB",)
        assert server.database.settings()["shared_buffers"] == "32MB"
        assert facts["version_number"] == VERSIONS.get(provision, facts["version_number"])
        assert str(facts["version"]) == parse_provision(provision).version or ".0" in provision
        assert facts["durability"] == "D2"
        changed = facts["settings_changed"]
        assert isinstance(changed, Mapping)
        assert changed["shared_buffers"]["value"] == "32MB"
        assert server.database.size_bytes() > 1_000_000
    assert "database system is shut down" in server.log_files()[0].read_text()


@pytest.mark.parametrize("provision", ["postgresql:9.6.24@maven", "postgresql:18.0.0@maven"])
def test_statements_are_counted_by_the_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        before = server.database.counters()
        with connect(server.entry.target()) as connection:
            for _ in range(100):
                connection.execute("SELECT 1")
        after = server.database.counters()

    assert after["statements_calls"] - before["statements_calls"] == 100
    assert after["statements_rows"] - before["statements_rows"] == 100


def test_a_server_killed_in_a_parallel_query_leaves_nothing(server: Server) -> None:
    with connect(server.entry.target()) as connection, connect(server.entry.target()) as watcher:
        for statement in (
            "CREATE TABLE n AS SELECT generate_series(1, 100000) AS i",
            "SET parallel_setup_cost = 0",
            "SET min_parallel_table_scan_size = 0",
        ):
            connection.execute(statement)
        slow = threading.Thread(target=count_for_long, args=(connection,))
        slow.start()
        deadline = time.monotonic() + LIMIT_S
        workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"
        while watcher.execute(workers).fetchone() == (0,):
            assert time.monotonic() < deadline
        processes = descendants(postmaster(server))
        server.node.kill()
        wait_until_gone(processes)
        slow.join()

    assert not server.alive()


def count_for_long(connection: psycopg.Connection) -> None:
    with contextlib.suppress(psycopg.OperationalError):
        connection.execute("SELECT count(*) FROM n a, n b WHERE a.i % 7 <> b.i % 5")


def test_a_wrong_setting_is_named_with_the_nearest(tmp_path: Path) -> None:
    with (
        open_server("postgresql:18.4", {"shared_bufers": "1GB"}, tmp_path) as server,
        pytest.raises(ServerError, match="has no setting `shared_bufers`") as caught,
    ):
        server.start()

    assert caught.value.hint == "did you mean `shared_buffers`?"


def test_a_wrong_value_is_quoted(tmp_path: Path) -> None:
    with (
        open_server("postgresql:18.4", {"shared_buffers": "plenty"}, tmp_path) as server,
        pytest.raises(ServerError, match='invalid value for parameter "shared_buffers": "plenty"'),
    ):
        server.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has an account to give away")
def test_root_runs_the_server_as_somebody_else(server: Server) -> None:
    status = Path(f"/proc/{postmaster(server)}/status").read_text()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]

    assert "0" not in uids


def test_what_the_compiler_says_of_a_function_is_told(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text('#include "postgres.h"\nPG_MODULE_MAGIC\nint f(void) { return x; }\n')

    with (
        open_server("postgresql:18.4@wheel", {}, tmp_path, c_functions=(source,)) as server,
        pytest.raises(
            ServerError, match=r"wrong\.c can't be compiled for postgresql 18\.4: .*error"
        ),
    ):
        server.start()
