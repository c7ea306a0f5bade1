"""Each server once for all tests of this room: starting it takes longer than what they do to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from driven import Driven

from dbdyno.servers import open_server

SERVERS = {
    "postgresql:15@system": ("pgsql", {"fsync": "off"}),
    "mariadb@system": ("mysql", {"innodb_flush_log_at_trx_commit": "0"}),
    "sqlite": ("sqlite", {"journal_mode": "wal", "synchronous": "off"}),
}


@pytest.fixture(scope="session", params=list(SERVERS))
def driven(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    """A server that waits for no disk."""
    driver, settings = SERVERS[request.param]
    folder = tmp_path_factory.mktemp("server")
    with open_server(request.param, settings, folder) as server:
        server.start()
        yield Driven(server, driver, folder)
