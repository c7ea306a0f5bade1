"""A SQLite database of one run: settings are pragmas, given to every connection of the engine.

The engine carries its own SQLite and reports its version; Python's, whose version may differ, is
used here to check the pragmas and to look at the file.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from dbdyno.errors import ServerError
from dbdyno.model.session import Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.sqlite.contents import contents, quoted
from dbdyno.servers.nodes.apart import ApartSession
from dbdyno.servers.nodes.process_free import ProcessFree
from dbdyno.servers.protocol import DATABASE, Package, ServerSpec, Source, Transport
from dbdyno.servers.setting import unknown_setting
from dbdyno.servers.sources.packaged import fetch

CHECKSUMS = "checksum_verification"
"""The pragma of SQLite's checksum extension; `on` loads it."""
_EXTENSION = Package("3.54.1.0", Source.WHEEL, "apsw==3.54.1.0", "apsw/sqlite_extra_binaries")
"""A wheel that carries it, for any Python."""
_ANSWER_LIMIT_S = 30.0
_WORDS: Mapping[str, Sequence[str]] = {
    CHECKSUMS: ("off", "on"),
    "auto_vacuum": ("none", "full", "incremental"),
    "journal_mode": ("delete", "truncate", "persist", "memory", "wal", "off"),
    "locking_mode": ("normal", "exclusive"),
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
}
"""Pragmas with named values, numbered by position. SQLite ignores unknown values."""
_TABLES = (
    "SELECT name FROM sqlite_master"
    " WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
)
_REPORTED = (
    "auto_vacuum",
    "cache_size",
    "encoding",
    "foreign_keys",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "secure_delete",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
)
_SHAPES_FILE = ("page_size", "encoding", "auto_vacuum")
"""Pragmas that must come before the file's first page, and before `journal_mode = wal`."""
_READ_BY_WORD = frozenset({"journal_mode", "locking_mode"})
"""Those that SQLite itself answers in words; the others of `_WORDS` come back as numbers."""


class SqliteServer(ProcessFree):
    """A file and its pragmas."""

    _WHAT: ClassVar[str] = "the database file"

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(spec, folder)
        self._provision = spec.provision
        settings = dict(spec.settings)
        self._checksums = settings.pop(CHECKSUMS, "off")
        shape = [name for name in _SHAPES_FILE if name in settings]
        self._extension: Path | None = None
        self._sessions: WeakSet[ApartSession] = WeakSet()
        self._asked = {name: settings[name] for name in dict.fromkeys((*shape, *settings))}

    def start(self) -> None:
        """Creates the file with the pragmas that stay in it."""
        self._check_words()
        self._path = self._make_folder() / f"{DATABASE}.db"
        if self._checksums == "on":
            self._path.touch()
            self._extension = fetch(_EXTENSION).folder / _EXTENSION.binaries / "cksumvfs.so"
            self.inside().close()
        known = known_pragmas()
        for name in self._asked:
            if name not in known:
                raise unknown_setting("sqlite", name, known, "settings are pragmas of SQLite")
        shaped = not self._asked.keys().isdisjoint(_SHAPES_FILE)
        with self._open() as connection:
            # A file that is only tried need not be written, unless that decides what it will be.
            if self._checksums == "off" and (shaped or self._tried is None):
                connection.execute("VACUUM")
        decided = {"journal_mode", "page_size"}.intersection(self._asked)
        effective = self.settings() if decided else {}
        for name in decided:
            if effective[name] != self._asked[name].lower():
                raise ServerError(
                    f"sqlite answers `{name} = {self._asked[name]}` with `{effective[name]}`",
                    hint="page_size is a power of two from 512 to 65536; journal modes are: "
                    + ", ".join(_WORDS["journal_mode"]),
                )

    def _check_words(self) -> None:
        for name, value in self._asked.items():
            _check_word(name, value)
        _check_word(CHECKSUMS, self._checksums)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection with the run's pragmas, like the engine's."""
        assert self._path is not None, "started"
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=30)) as connection:
                connection.isolation_level = None
                if self._tried is not None:  # No disk need keep what is removed at once.
                    connection.execute("PRAGMA synchronous = off")
                for name, value in self._asked.items():
                    if name.isidentifier():
                        connection.execute(f"PRAGMA {name} = {_literal(value)}").fetchall()
                yield connection
        except sqlite3.Error as error:
            raise ServerError(f"sqlite can't use {self._path.name}: {error}") from error

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The file and its pragmas; there is no transport."""
        if self._checksums == "on":
            raise ServerError(
                f"the engine's own SQLite has no checksum extension (`{CHECKSUMS} = on`)",
                hint="it is for generators that ask the database themselves, such as `damage`",
            )
        pragmas = [[name, value] for name, value in self._asked.items()]
        return {"driver": "sqlite", "path": str(self._path), "pragmas": pragmas}

    def facts(self) -> Mapping[str, object]:
        """Facts known without the engine, which adds its version."""
        return {**self._library(), "durability": self._durability()}

    def _library(self) -> Mapping[str, object]:
        return {
            "kind": "sqlite",
            "source": self._provision.source.value,
            "library_of_lab": sqlite3.sqlite_version,
        }

    def _durability(self) -> str:
        """D0 may tear the file in a crash, D1 may lose the last commits, D2 keeps each."""
        effective = self.settings()
        synchronous, journal = effective["synchronous"], effective["journal_mode"]
        if synchronous == "off" or journal in ("off", "memory"):
            return "D0"
        if synchronous == "normal":
            return "D1" if journal == "wal" else "D0"
        return "D2"

    def settings(self) -> Mapping[str, str]:
        """The pragmas that matter, as they take effect."""
        with self._open() as connection:
            found: dict[str, str] = {}
            for name in dict.fromkeys((*_REPORTED, *self._asked)):
                row = connection.execute(f"PRAGMA {name}").fetchone()
                if row is not None:
                    found[name] = _word(name, row[0])
        return {**found, CHECKSUMS: self._checksums}

    def counters(self) -> Mapping[str, int]:
        """Pages of the file; SQLite has no statement counters."""
        with self._open() as connection:
            return {
                name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count")
            }

    def size_bytes(self) -> int:
        """Size of the file with its journal or log."""
        assert self._path is not None, "started"
        return sum(
            path.stat().st_size
            for path in self._path.parent.glob(f"{self._path.name}*")
            if not path.name.endswith("-shm")
        )

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the file."""
        assert self._path is not None, "started"
        return contents(self._path, table, checksum=checksum)

    def tables(self) -> Mapping[str, str]:
        """Tables in the file."""
        with self._open() as connection:
            found = connection.execute(_TABLES).fetchall()
        return {name: f"main.{quoted(name)}" for (name,) in found}

    def inside(self) -> Session:
        """Opens a session in a separate process, so that a crash does not affect the lab."""
        assert self._path is not None, "started"
        extension = () if self._extension is None else (self._extension,)
        session = ApartSession(self._guarded, self._path, *extension, limit_s=_ANSWER_LIMIT_S)
        self._sessions.add(session)
        return session

    def kill(self) -> None:
        """Kills the processes of its sessions: it has no other that could crash."""
        for session in tuple(self._sessions):
            session.kill()

    def restart(self, limit_s: float) -> None:
        """Opens the file, as any program that uses it does first."""
        self.check()
        session = self.inside()
        try:
            session.rows("SELECT count(*) FROM sqlite_master")
        finally:
            session.close()

    def data_folder(self) -> Path | None:
        """The folder of the file."""
        return self._path.parent if self._path else None


@cache
def known_pragmas() -> Sequence[str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return [name for (name,) in connection.execute("PRAGMA pragma_list")]


def _check_word(name: str, value: str) -> None:
    words = _WORDS.get(name)
    if words is None or value.lower() in words or value in map(str, range(len(words))):
        return
    close = get_close_matches(value.lower(), words, n=1)
    guess = f"did you mean `{close[0]}`? " if close else ""
    raise ServerError(
        f"sqlite's `{name}` can't be `{value}`", hint=f"{guess}known: {', '.join(words)}"
    )


def _word(name: str, value: object) -> str:
    words = _WORDS.get(name)
    if words is not None and isinstance(value, int) and name not in _READ_BY_WORD:
        return words[value]
    return str(value)


def _literal(value: str) -> str:
    return value if value.lstrip("-").isalnum() else "'" + value.replace("'", "''") + "'"
