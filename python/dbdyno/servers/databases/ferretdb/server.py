"""A FerretDB of one run, on SQLite files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.ferretdb.program import PROGRAM
from dbdyno.servers.databases.mongodb.server import DocumentServer
from dbdyno.servers.protocol import ServerSpec


class FerretdbServer(DocumentServer):
    """It has no settings, and scans a collection for whatever is not found by `_id`."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        if spec.settings:
            raise ServerError(f"FerretDB 1 has no settings: {', '.join(sorted(spec.settings))}")
        super().__init__(spec, folder)

    def facts(self) -> Mapping[str, object]:
        """As a library, FerretDB does not know its own version."""
        return {**super().facts(), "version": self._provision.version}

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM

    @property
    def _socket(self) -> Path:
        return self._sockets / "socket"

    def _command(self) -> Sequence[str]:
        words = ["-unix", str(self._socket), "-data", str(self._data)]
        place = f"{self._address}:{self._port}"
        if files := self._secured(self._folder):
            words += ["-tls", place, "-tls-certificate", str(files["certificate"])]
            return [*words, "-tls-key", str(files["key"])]
        return [*words, "-tcp", place]

    def _configure(self) -> None:
        super()._configure()
        self._socket.unlink(missing_ok=True)  # A killed one leaves it, and it is in the way.

    def _durability(self) -> str:
        """SQLite's log, synced at each commit."""
        return "D2"
