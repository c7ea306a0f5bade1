"""The PostgreSQL in which a FerretDB 2 keeps its documents, by the extension documentdb."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.postgresql.server import PostgresqlServer
from dbdyno.servers.protocol import ROLE, Package, Provision, ServerSpec, Source
from dbdyno.servers.setting import refuse_reserved
from dbdyno.servers.sources.suite import packages_of

_MAJOR = "18"
_OURS = {
    "cron.database_name": "postgres",
    "shared_preload_libraries": "pg_cron,pg_documentdb_core,pg_documentdb",
}


def package() -> Package:
    """PostgreSQL with the extension, from a suite of the distribution.

    # Errors
    `ServerError` where no suite has it.
    """
    found = packages_of("documentdb")
    if not found:
        raise ServerError("no suite of the distribution has PostgreSQL's extension documentdb")
    return found[-1]


class DocumentStore(PostgresqlServer):
    """Settings of the study are PostgreSQL's."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        refuse_reserved(spec.settings, frozenset(_OURS))
        provision = Provision(
            f"postgresql:{_MAJOR}@debian", "postgresql", Source.DEBIAN, _MAJOR, package()
        )
        settings = {**_OURS, **spec.settings}
        own = replace(spec, provision=provision, settings=settings, tls=False, topology={})
        super().__init__(own, folder)

    @property
    def url(self) -> str:
        """Where FerretDB finds it: over TCP, with the password of this run's role."""
        return f"postgres://{ROLE}:{self._password}@{self._address}:{self._port}/postgres"

    def _configure(self) -> None:
        """The extension and pg_cron connect to the server themselves, by its Unix socket: there
        the role needs no password."""
        place = str(self._sockets)
        own = {"cron.host": place, "documentdb.localhost_connection_string": f"host={place}"}
        self._asked = {**own, **self._asked}
        super()._configure()

    def _furnish(self) -> None:
        super()._furnish()
        self._session.rows("CREATE EXTENSION documentdb CASCADE")
