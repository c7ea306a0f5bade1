"""Real proxies before real servers: reached through them, watched, gone with them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from kinds import KINDS

from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server
from dbdyno.servers.protocol import Wish
from traces import wait_until_dead

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

PGBOUNCER = Wish("pgbouncer", processes=2, settings={"default_pool_size": "3"})
PGPOOL = Wish("pgpool", settings={"memory_cache_enabled": "on", "num_init_children": "4"})
HAPROXY = Wish("haproxy", version="3.0")


every_proxy = pytest.mark.parametrize(
    ("kind", "wish"),
    [
        ("postgresql", PGBOUNCER),
        ("postgresql", PGPOOL),
        ("postgresql", HAPROXY),
        ("mariadb", HAPROXY),
    ],
    ids=["pgbouncer", "pgpool", "haproxy-postgresql", "haproxy-mariadb"],
)


@contextmanager
def behind(kind: str, wish: Wish, folder: Path) -> Iterator[Server]:
    with open_server(KINDS[kind].system, {}, folder, proxy=wish) as server:
        server.start()
        yield server


@every_proxy
def test_every_process_leads_to_the_server(kind: str, wish: Wish, tmp_path: Path) -> None:
    with behind(kind, wish, tmp_path) as server:
        target: Any = server.entry.target()
        load: Any = server.entry.fill_target()
        facts: Any = server.facts()
        proxies, processes = server.entry.proxies(), server.node.processes()
        heads = [pid for pid in proxies if psutil.Process(pid).ppid() not in proxies]
        for endpoint in target["endpoints"]:
            with KINDS[kind].connect({**target, "endpoints": [endpoint]}) as connection:
                cursor = connection.cursor()
                cursor.execute("SELECT 40 + 2")
                assert cursor.fetchone() == (42,)

    assert len(target["endpoints"]) == len(heads) == facts["proxy"]["processes"] == wish.processes
    assert "unix" in load["endpoints"][0]
    assert not set(proxies) & set(processes)


@every_proxy
def test_a_proxy_that_dies_is_told(kind: str, wish: Wish, tmp_path: Path) -> None:
    with behind(kind, wish, tmp_path) as server:
        os.kill(server.entry.proxies()[0], signal.SIGKILL)
        wait_until_dead(server)

        with pytest.raises(ServerError, match=f"{wish.kind}.*ended while it was needed"):
            server.check()


def test_the_shared_memory_of_pgpool_ends_with_it(tmp_path: Path) -> None:
    with behind("postgresql", PGPOOL, tmp_path) as server:
        spaces = {Path(f"/proc/{pid}/ns/ipc").readlink() for pid in server.entry.proxies()}

    assert len(spaces) == 1 and Path("/proc/self/ns/ipc").readlink() not in spaces


def test_results_come_from_the_cache_of_pgpool(tmp_path: Path) -> None:
    with behind("postgresql", PGPOOL, tmp_path) as server:
        target: Any = server.entry.target()
        with KINDS["postgresql"].connect(target) as connection:
            cursor = connection.cursor()
            cursor.execute("CREATE TABLE counted (id int)")
            connection.commit()
            for _ in range(3):
                cursor.execute("SELECT count(*) FROM counted")
                connection.commit()
            cursor.execute("SHOW pool_cache")
            (shown,) = cursor.fetchall()

    hits = int(shown[0])
    assert hits >= 1


def test_a_server_that_can_not_take_all_pools_is_told_before(tmp_path: Path) -> None:
    wish = Wish("pgbouncer", processes=4, settings={"default_pool_size": "30"})
    with (
        open_server("postgresql@system", {}, tmp_path, proxy=wish) as server,
        pytest.raises(ServerError, match="4 × pgbouncer may open 120 connections"),
    ):
        server.start()


def test_a_pooler_has_more_clients_than_its_server(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path, proxy=PGBOUNCER) as server:
        server.start()
        most = server.entry.capacity().connections

    assert most is not None and most > 1000


def test_a_proxy_that_does_not_start_says_why(tmp_path: Path) -> None:
    wish = Wish("pgbouncer", settings={"pool_mode": "none"})
    with (
        open_server("postgresql@system", {}, tmp_path, proxy=wish) as server,
        pytest.raises(ServerError, match="pgbouncer") as caught,
    ):
        server.start()

    assert "pool_mode" in (caught.value.hint or "")
