"""A FerretDB 2 of one run, on a PostgreSQL of its own: two processes that are one server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.servers.databases.ferretdb.program import PROGRAM_2
from dbdyno.servers.databases.ferretdb.server import Ferretdb
from dbdyno.servers.databases.ferretdb.store import DocumentStore
from dbdyno.servers.folder_size import size_of
from dbdyno.servers.protocol import Database, Entry, Members, Node, ServerSpec


class Front(Ferretdb):
    """The FerretDB. Settings are those of its PostgreSQL, whose role logs in."""

    def __init__(self, spec: ServerSpec, folder: Path, store: DocumentStore) -> None:
        super().__init__(spec, folder)
        self._store = store
        self.share_password(store)

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM_2

    def _environment(self, *prefixes: str) -> Mapping[str, str]:
        return {**super()._environment(*prefixes), "FERRETDB_POSTGRESQL": self._store.url}

    def _command(self) -> Sequence[str]:
        return [*self._listening(), "-state", str(self._data)]

    def facts(self) -> Mapping[str, object]:
        """Its own, and those of its PostgreSQL as `store`."""
        return {**super().facts(), "store": self._store.facts()}

    def _durability(self) -> str:
        return str(self._store.facts()["durability"])

    def settings(self) -> Mapping[str, str]:
        """All of its PostgreSQL."""
        return self._store.settings()

    def size_bytes(self) -> int:
        """Of PostgreSQL's data folder."""
        return size_of(self._store.data_folder() or self._data)


class Both:
    """The node that FerretDB and its PostgreSQL are together."""

    def __init__(self, front: Front, store: DocumentStore) -> None:
        self._front, self._store = front, store
        self.launched = front.launched

    def alive(self) -> bool:
        """Whether both run."""
        return self._store.alive() and self._front.alive()

    def check(self) -> None:
        """Raises when either has ended without being asked to."""
        self._store.check()
        self._front.check()

    def ended_with(self) -> int | None:
        """How FerretDB ended."""
        return self._front.ended_with()

    def data_folder(self) -> Path | None:
        """The one of PostgreSQL."""
        return self._store.data_folder()

    def processes(self) -> Sequence[int]:
        return [*self._front.processes(), *self._store.processes()]

    def log_files(self) -> Sequence[Path]:
        return [*self._front.log_files(), *self._store.log_files()]

    def stop(self) -> None:
        """Ends FerretDB first."""
        self._front.stop()
        self._store.stop()

    def kill(self) -> None:
        self._front.kill()
        self._store.kill()

    def drop(self) -> None:
        self._front.drop()
        self._store.drop()

    def pause(self) -> None:
        self._front.pause()
        self._store.pause()

    def resume(self) -> None:
        self._store.resume()
        self._front.resume()

    def restart(self, limit_s: float) -> None:
        """Starts what has ended: PostgreSQL on its data, then FerretDB, which is ended before
        where PostgreSQL was: it would go on using connections that are dead."""
        if not self._store.alive():
            self._front.stop()
        for server in (self._store, self._front):
            if not server.alive():
                server.restart(limit_s)


class FerretdbOnPostgresql:
    """Clients know the FerretDB alone."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        self._store = DocumentStore(spec, folder / "postgresql")
        self._front = Front(spec, folder, self._store)
        self._both = Both(self._front, self._store)

    @property
    def node(self) -> Node:
        """Both processes."""
        return self._both

    @property
    def database(self) -> Database:
        """What FerretDB answers for."""
        return self._front

    @property
    def entry(self) -> Entry:
        """FerretDB takes the clients."""
        return self._front

    @property
    def members(self) -> Members:
        """None: it is a single server."""
        return Members()

    def start(self) -> None:
        """Starts PostgreSQL first."""
        self._store.start()
        self._front.start()

    def facts(self) -> Mapping[str, object]:
        return self._front.facts()

    def alive(self) -> bool:
        return self._both.alive()

    def check(self) -> None:
        self._both.check()

    def log_files(self) -> Sequence[Path]:
        return self._both.log_files()

    def stop(self) -> None:
        self._both.stop()

    def close(self) -> None:
        """Removes both, whatever goes wrong with one."""
        try:
            self._front.close()
        finally:
            self._store.close()
