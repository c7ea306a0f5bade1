"""A DuckDB file of one run. The engine opens it in its own process, with DuckDB's library; the lab
asks it through the command-line program while no engine has it open."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.model.session import Session
from dbdyno.servers.contents import Contents, contents_of
from dbdyno.servers.databases.duckdb.library import library_of
from dbdyno.servers.databases.duckdb.session import DuckdbSession
from dbdyno.servers.nodes.process_free import ProcessFree
from dbdyno.servers.protocol import DATABASE, ServerSpec, Transport
from dbdyno.servers.sources.packaged import Programs, install

_ANSWER_LIMIT_S = 30.0


class DuckdbServer(ProcessFree):
    """A file, and settings for every session."""

    _WHAT: ClassVar[str] = "the database file"

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(spec, folder)
        self._provision = spec.provision
        self._asked = spec.settings
        self._programs: Programs | None = None

    def start(self) -> None:
        """Gets the program and makes the file."""
        self._programs = install(self._provision, None)
        self._path = self._make_folder() / f"{DATABASE}.duckdb"
        self.inside().close()

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The file, the library and the settings; there is no transport."""
        assert self._programs is not None, "started"
        library = library_of(self._provision, self._programs.folder)
        return {
            "driver": "duckdb",
            "library": str(library),
            "path": str(self._path),
            "settings": [[name, value] for name, value in self._asked.items()],
        }

    def facts(self) -> Mapping[str, object]:
        """What it is; each commit is synced."""
        assert self._programs is not None, "started"
        return {
            "kind": "duckdb",
            "version": self._provision.version,
            "durability": "D2",
            **self._programs.facts,
        }

    def settings(self) -> Mapping[str, str]:
        """Settings as reported by the database."""
        found = self._ask("SELECT name, value FROM duckdb_settings() ORDER BY name")
        return {str(row["name"]): str(row["value"]) for row in found}

    def counters(self) -> Mapping[str, int]:
        """Blocks of the file; DuckDB counts no statements."""
        found = self._ask(
            "SELECT total_blocks, used_blocks, free_blocks FROM pragma_database_size()"
        )
        return {name: int(count) for name, count in found[0].items()}

    def size_bytes(self) -> int:
        """Size of the file with its log."""
        assert self._path is not None, "started"
        return sum(path.stat().st_size for path in self._path.parent.glob(f"{self._path.name}*"))

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the file."""
        if not checksum:
            return Contents(int(self._ask(f"SELECT count(*) AS n FROM {table}")[0]["n"]))
        rows = self._ask(f"SELECT COLUMNS(*)::VARCHAR FROM {table}")
        return contents_of(
            (None if value is None else str(value).encode() for value in row.values())
            for row in rows
        )

    def tables(self) -> Mapping[str, str]:
        """Tables in the file."""
        found = self._ask("SELECT table_name FROM duckdb_tables() ORDER BY table_name")
        return {str(row["table_name"]): f'main."{row["table_name"]}"' for row in found}

    def _ask(self, statement: str) -> Sequence[Mapping[str, Any]]:
        session = self.inside()
        try:
            return session.rows(statement)
        finally:
            session.close()

    def inside(self) -> Session:
        """Opens a session in a separate process, so that a crash does not affect the lab."""
        assert self._path is not None, "started"
        assert self._programs is not None, "started"
        program = self._programs.folder / "duckdb"
        return DuckdbSession(
            self._guarded, program, self._path, self._asked, limit_s=_ANSWER_LIMIT_S
        )

    def stop(self) -> None:
        """Writes the log into the file."""
        if self._path is not None:
            self._ask("CHECKPOINT")

    def restart(self, limit_s: float) -> None:
        """Opens the file, as any program that uses it does first."""
        self.check()
        self._ask("SELECT count(*) AS n FROM duckdb_tables()")

    def data_folder(self) -> Path | None:
        """The folder of the file."""
        return self._path.parent if self._path else None
