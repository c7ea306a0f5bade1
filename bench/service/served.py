"""The server that statements are sent to, and its one table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from bench.place import POSTGRESQL, libpq_of, socket_of
from dbdyno.servers import open_server

ROWS = 100_000
_SETTINGS = {"max_connections": "300"}


@contextmanager
def served() -> Iterator[tuple[Mapping[str, Any], str]]:
    """A PostgreSQL server with the table `stamped`: the target, and the server's version."""
    with (
        TemporaryDirectory(prefix="dbdyno-bench-") as name,
        open_server(POSTGRESQL, _SETTINGS, Path(name)) as server,
    ):
        server.start()
        target: Mapping[str, Any] = server.entry.target()
        host, port = libpq_of(socket_of(target))
        with psycopg.connect(
            host=host,
            port=port,
            user=target["user"],
            dbname=target["database"],
            autocommit=True,
        ) as connection:
            connection.execute(
                "CREATE TABLE stamped AS "
                f"SELECT id, id AS value FROM generate_series(1, {ROWS}) AS id"
            )
            connection.execute("ALTER TABLE stamped ADD PRIMARY KEY (id)")
            connection.execute("VACUUM (ANALYZE) stamped")
        yield target, str(server.facts()["version"])
