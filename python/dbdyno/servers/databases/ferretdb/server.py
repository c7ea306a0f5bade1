"""A FerretDB of one run, on SQLite files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.ferretdb.program import PROGRAM
from dbdyno.servers.databases.mongodb.server import DocumentServer
from dbdyno.servers.databases.mongodb.session import MongodbSession, Place
from dbdyno.servers.protocol import DATABASE, ROLE, ServerSpec, Transport

_SOURCE = "admin"
"""The database that has its user."""


class Ferretdb(DocumentServer):
    """What every FerretDB of a run is to its clients. Its user logs in by SCRAM-SHA-256 wherever it
    connects."""

    @property
    def _socket(self) -> Path:
        return self._sockets / "socket"

    def _configure(self) -> None:
        super()._configure()
        self._socket.unlink(missing_ok=True)  # A killed one leaves it, and it is in the way.

    def _listening(self) -> Sequence[str]:
        """Words of its command that say where it listens."""
        place = f"{self._address}:{self._port}"
        words = ["-unix", str(self._socket)]
        if files := self._secured(self._folder):
            words += ["-tls", place, "-tls-certificate", str(files["certificate"])]
            return [*words, "-tls-key", str(files["key"])]
        return [*words, "-tcp", place]

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The Unix socket or its address, with its user and this run's password."""
        own = {"user": ROLE, "password": self._password, "session": [["authSource", _SOURCE]]}
        return {**super().target(transport), **own}

    def _inside(self) -> MongodbSession:
        socket, password = str(self._socket), self._password
        place = Place(socket, user=ROLE, password=password, source=_SOURCE, database=DATABASE)
        return MongodbSession(place)


class FerretdbServer(Ferretdb):
    """A FerretDB 1. It has no settings, and scans a collection for whatever is not found by
    `_id`."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        if spec.settings:
            raise ServerError(f"FerretDB 1 has no settings: {', '.join(sorted(spec.settings))}")
        super().__init__(spec, folder)

    def facts(self) -> Mapping[str, object]:
        """As a library, FerretDB does not know its own version."""
        return {**super().facts(), "version": self._provision.version}

    def _environment(self, *prefixes: str) -> Mapping[str, str]:
        return {**super()._environment(*prefixes), "FERRETDB_PASSWORD": self._password}

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM

    def _command(self) -> Sequence[str]:
        return [*self._listening(), "-data", str(self._data), "-user", ROLE]

    def _durability(self) -> str:
        """SQLite's log, synced at each commit."""
        return "D2"
