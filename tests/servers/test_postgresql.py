"""Real PostgreSQL servers of every source: started, asked, stopped, and gone without a trace."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.guard import children_of
from traces import LIMIT_S, descendants, no_trace, wait_until_gone

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
    processes = set(children_of(os.getpid()))
    with no_trace():
        yield
    assert set(children_of(os.getpid())) <= processes


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with open_server("postgresql:18.4", {}, tmp_path) as server:
        server.start()
        yield server


def connect(target: Mapping[str, Any]) -> psycopg.Connection:
    """As the engine would."""
    (endpoint,) = target["endpoints"]
    if "unix" in endpoint:
        folder, _, port = endpoint["unix"].rpartition("/.s.PGSQL.")
        place = {"host": folder, "port": port}
    else:
        place = endpoint["tcp"]
    return psycopg.connect(
        **place,
        user=target["user"],
        dbname=target["database"],
        password=target.get("password"),
        autocommit=True,
    )


def postmaster(server: Server) -> int:
    folder = server.data_folder()
    assert folder is not None
    return int((folder / "postmaster.pid").read_text().split()[0])


@pytest.mark.parametrize("provision", [*VERSIONS, "postgresql@system"])
def test_every_source_gives_a_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {"shared_buffers": "32MB"}, tmp_path) as server:
        server.start()
        facts = server.facts()
        for transport in ("unix", "tcp"):
            with connect(server.target(transport)) as connection:
                shown = connection.execute("SHOW shared_buffers").fetchone()

        assert shown == ("32MB",)
        assert server.settings()["shared_buffers"] == "32MB"
        assert facts["version_number"] == VERSIONS.get(provision, facts["version_number"])
        assert str(facts["version"]) == parse_provision(provision).version or ".0" in provision
        assert facts["durability"] == "D2"
        changed = facts["settings_changed"]
        assert isinstance(changed, Mapping)
        assert changed["shared_buffers"]["value"] == "32MB"
        assert server.size_bytes() > 1_000_000
    assert "database system is shut down" in server.log_files()[0].read_text()


@pytest.mark.parametrize("provision", ["postgresql:9.6.24@maven", "postgresql:18.0.0@maven"])
def test_statements_are_counted_by_the_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        before = server.counters()
        with connect(server.target()) as connection:
            for _ in range(100):
                connection.execute("SELECT 1")
        after = server.counters()

    assert after["statements_calls"] - before["statements_calls"] == 100
    assert after["statements_rows"] - before["statements_rows"] == 100


def test_two_run_at_once(tmp_path: Path) -> None:
    with (
        open_server("postgresql:18.4", {}, tmp_path / "a") as first,
        open_server("postgresql:18.4", {}, tmp_path / "b") as second,
    ):
        first.start()
        second.start()
        with connect(first.target("tcp")) as connection:
            connection.execute("CREATE TABLE here ()")
        with (
            connect(second.target("tcp")) as connection,
            pytest.raises(psycopg.errors.UndefinedTable),
        ):
            connection.execute("TABLE here")


def test_a_killed_server_is_noticed(server: Server) -> None:
    pid = postmaster(server)
    server.check()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + LIMIT_S
    while server.alive():
        assert time.monotonic() < deadline

    with pytest.raises(ServerError, match=r"killed by signal 9 \(SIGKILL\)") as caught:
        server.check()
    assert "ready to accept connections" in (caught.value.hint or "")
    assert not server.alive()
    with pytest.raises(ServerError):
        server.counters()


def test_a_server_killed_in_a_parallel_query_leaves_nothing(server: Server) -> None:
    with connect(server.target()) as connection, connect(server.target()) as watcher:
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
        server.kill()
        wait_until_gone(processes)
        slow.join()

    assert not server.alive()


def count_for_long(connection: psycopg.Connection) -> None:
    with contextlib.suppress(psycopg.OperationalError):
        connection.execute("SELECT count(*) FROM n a, n b WHERE a.i % 7 <> b.i % 5")


def test_stopping_is_no_failure_and_can_be_repeated(server: Server) -> None:
    server.stop()
    server.stop()
    server.check()

    assert not server.alive()


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


def test_settings_by_which_we_watch_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="`port` is set by dbdyno itself"),
        open_server("postgresql:18.4", {"port": "5432"}, tmp_path),
    ):
        pass


def test_a_path_is_a_source(tmp_path: Path) -> None:
    installed = parse_provision("postgresql@system").installation
    assert installed is not None
    with open_server(f"postgresql@path:{installed.binaries}", {}, tmp_path) as server:
        server.start()

        assert server.facts()["source"] == "path"


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_a_running_server_is_used_and_left_alone(
    server: Server, tmp_path: Path, transport: Any
) -> None:
    theirs: Any = server.target(transport)
    with connect(theirs) as connection:
        info = connection.info
        url = (
            f"postgresql://{info.user}:{info.password}@/{info.dbname}"
            f"?host={info.host}&port={info.port}"
        )
    before = server.settings()

    with open_server(f"url:{url}", {}, tmp_path / "other") as running:
        running.start()
        ours: Any = running.target()
        with connect(ours) as connection:
            connection.execute("SELECT 1")
        assert ours["endpoints"] == theirs["endpoints"]
        assert running.facts()["version"] == server.facts()["version"]
        assert running.counters()["xact_commit"] >= 0
        assert running.alive()
        with pytest.raises(ServerError, match="not ours to kill"):
            running.kill()
        running.stop()

    assert server.alive()
    assert server.settings() == before
    assert running.alive(), "it answers still"
    running.stop()


def test_a_running_server_that_dies_is_noticed(server: Server, tmp_path: Path) -> None:
    (endpoint,) = cast(Any, server.target())["endpoints"]
    folder, _, port = endpoint["unix"].rpartition("/.s.PGSQL.")
    url = f"postgresql://dbdyno@/sbtest?host={folder}&port={port}"
    with open_server(f"url:{url}", {}, tmp_path / "other") as running:
        running.start()
        assert running.alive()
        server.kill()

        deadline = time.monotonic() + LIMIT_S
        while running.alive():
            assert time.monotonic() < deadline
        with pytest.raises(ServerError):
            running.check()


def test_a_running_server_can_not_be_given_settings(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="not ours to configure"),
        open_server("url:postgresql://u@127.0.0.1/d", {"work_mem": "1MB"}, tmp_path),
    ):
        pass


def test_a_wrong_password_is_said_without_repeating_it(server: Server, tmp_path: Path) -> None:
    tcp: Any = server.target("tcp")["endpoints"]
    address = "{host}:{port}".format(**tcp[0]["tcp"])
    with (
        open_server(f"url:postgresql://dbdyno:s3cret@{address}/sbtest", {}, tmp_path) as running,
        pytest.raises(ConnectError, match="password authentication failed") as caught,
    ):
        running.start()

    assert "s3cret" not in caught.value.message


def test_nobody_listening_is_said(tmp_path: Path) -> None:
    with (
        open_server("url:postgresql://dbdyno@127.0.0.1:1/sbtest", {}, tmp_path) as running,
        pytest.raises(ConnectError, match="refused"),
    ):
        running.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has an account to give away")
def test_root_runs_the_server_as_somebody_else(server: Server) -> None:
    status = Path(f"/proc/{postmaster(server)}/status").read_text()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]

    assert "0" not in uids
