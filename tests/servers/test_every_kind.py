"""What every kind of server does alike: watched, ended, reached by its URL, left alone."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from kinds import KINDS, KindUnderTest

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.servers import Server, open_server, parse_provision
from traces import LIMIT_S, nothing_left, wait_until_dead

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS)),
]


@pytest.fixture
def server(kind: KindUnderTest, tmp_path: Path) -> Iterator[Server]:
    with open_server(kind.provision, {}, tmp_path) as server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def standing_servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Server]]:
    """Starts a server of a provision once for the module: starting takes longer than the tests."""
    with contextlib.ExitStack() as stack:

        @cache
        def standing(provision: str) -> Server:
            folder = tmp_path_factory.mktemp("standing")
            server = stack.enter_context(open_server(provision, {}, folder))
            server.start()
            return server

        yield standing


@pytest.fixture
def standing(kind: KindUnderTest, standing_servers: Callable[[str], Server]) -> Server:
    """For tests that leave it as it was."""
    return standing_servers(kind.provision)


@pytest.fixture(autouse=True)
def clean(standing_servers: Callable[[str], Server], kind: KindUnderTest) -> Iterator[None]:
    """Every test leaves the machine as it found it; what stands before it is no trace of it."""
    standing_servers(kind.provision)
    with nothing_left():
        yield


def test_two_run_at_once(kind: KindUnderTest, tmp_path: Path) -> None:
    with (
        open_server(kind.provision, {}, tmp_path / "a") as first,
        open_server(kind.provision, {}, tmp_path / "b") as second,
    ):
        first.start()
        second.start()
        with kind.connect(first.entry.target("tcp")) as connection:
            connection.cursor().execute("CREATE TABLE here (i INT)")
        with (
            kind.connect(second.entry.target("tcp")) as connection,
            pytest.raises((psycopg.errors.UndefinedTable, pymysql.err.ProgrammingError)),
        ):
            connection.cursor().execute("SELECT * FROM here")


def test_a_killed_server_is_noticed(kind: KindUnderTest, server: Server) -> None:
    pid = kind.process(server)
    server.check()
    os.kill(pid, signal.SIGKILL)
    wait_until_dead(server)

    with pytest.raises(ServerError, match=r"killed by signal 9 \(SIGKILL\)") as caught:
        server.check()
    assert kind.says_it_is_ready in (caught.value.hint or "")
    assert not server.alive()
    with pytest.raises(ServerError):
        server.database.counters()


def test_stopping_is_no_failure_and_can_be_repeated(server: Server) -> None:
    server.stop()
    server.stop()
    server.check()

    assert not server.alive()


def test_settings_by_which_we_watch_are_refused(kind: KindUnderTest, tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match=f"`{kind.reserved}` is set by dbdyno itself"),
        open_server(kind.provision, {kind.reserved: "1"}, tmp_path),
    ):
        pass


def test_a_path_is_a_source(kind: KindUnderTest, tmp_path: Path) -> None:
    installed = parse_provision(kind.system).installation
    assert installed is not None
    name = kind.system.partition("@")[0]
    with open_server(f"{name}@path:{installed.binaries}", {}, tmp_path) as server:
        server.start()

        assert server.facts()["source"] == "path"


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_a_running_server_is_used_and_left_alone(
    kind: KindUnderTest, standing: Server, tmp_path: Path, transport: Any
) -> None:
    theirs: Any = standing.entry.target(transport)
    before = standing.database.settings()

    with open_server(f"url:{kind.url(theirs)}", {}, tmp_path / "other") as running:
        running.start()
        ours: Any = running.entry.target()
        with kind.connect(ours) as connection:
            connection.cursor().execute("SELECT 1")
        assert ours["endpoints"] == theirs["endpoints"]
        assert running.facts()["version"] == standing.facts()["version"]
        assert sum(running.database.counters().values()) > 0
        assert running.alive()
        with pytest.raises(ServerError, match="not ours to kill"):
            running.node.kill()
        running.stop()

        assert standing.alive()
        assert standing.database.settings() == before
        assert running.alive(), "it answers still"


def test_a_running_server_that_dies_is_noticed(
    kind: KindUnderTest, server: Server, tmp_path: Path
) -> None:
    url = kind.url(server.entry.target())
    with open_server(f"url:{url}", {}, tmp_path / "other") as running:
        running.start()
        running.check()
        server.node.kill()
        wait_until_dead(server)

        with pytest.raises(ServerError):
            running.check()
        assert running.alive(), "a load may wait for it"


def test_a_running_server_that_ended_our_connection_is_alive(
    kind: KindUnderTest, standing: Server, tmp_path: Path
) -> None:
    target = standing.entry.target()
    with open_server(f"url:{kind.url(target)}", {}, tmp_path / "other") as running:
        running.start()
        with (
            contextlib.suppress(psycopg.Error, pymysql.Error),
            kind.connect(target) as connection,
        ):
            connection.cursor().execute(kind.end_connections)

        running.check()
        assert running.alive()


def test_a_running_server_can_not_be_given_settings(kind: KindUnderTest, tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="not ours to configure"),
        open_server(f"url:{kind.nowhere}", {"work_mem": "1MB"}, tmp_path),
    ):
        pass


def test_a_wrong_password_is_said_without_repeating_it(
    kind: KindUnderTest, standing: Server, tmp_path: Path
) -> None:
    url = kind.url({**standing.entry.target("tcp"), "password": "s3cret"})
    with (
        open_server(f"url:{url}", {}, tmp_path) as running,
        pytest.raises(ConnectError, match=kind.says_wrong_password) as caught,
    ):
        running.start()

    assert "s3cret" not in caught.value.message


def test_nobody_listening_is_said(kind: KindUnderTest, tmp_path: Path) -> None:
    with (
        open_server(f"url:{kind.nowhere}", {}, tmp_path) as running,
        pytest.raises(ConnectError, match="refused"),
    ):
        running.start()


def test_it_starts_again_on_its_data_after_being_dropped(
    kind: KindUnderTest, server: Server
) -> None:
    inside = server.database.inside()
    inside.rows("CREATE TABLE kept (i INT PRIMARY KEY)")
    inside.rows("INSERT INTO kept VALUES (7)")
    inside.close()
    pid = kind.process(server)
    server.node.drop()
    assert not server.alive()
    assert server.node.ended_with() is not None

    server.node.restart(LIMIT_S)

    again = server.database.inside()
    assert again.rows("SELECT i FROM kept") == [{"i": 7}]
    again.close()
    assert server.alive()
    assert kind.process(server) != pid
    assert all(file.is_file() for file in server.database.table_files("kept"))
    assert server.database.table_files("kept")


def test_a_session_whose_server_dies_is_lost(server: Server) -> None:
    inside = server.database.inside()
    inside.rows("SELECT 1")
    server.node.kill()

    with pytest.raises(LostError):
        inside.rows("SELECT 1")
