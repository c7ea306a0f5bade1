"""A PostgreSQL server that streams from another: a physical replica, which is read-only."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.model.session import only_row
from dbdyno.servers.databases.postgresql.server import PostgresqlServer
from dbdyno.servers.protocol import ROLE, Server, ServerSpec

_ITS_OWN = ("postmaster.pid", "postmaster.opts")
"""Files of a running server that a copy must not have."""
_LEFT_OUT = ("pg_wal", "pg_replslot", "pg_stat_tmp")
"""Folders that a copy has empty: the log is streamed, the rest is the primary's alone."""


class PostgresqlReplica(PostgresqlServer):
    """Begins as a copy of its primary, which runs."""

    def __init__(self, spec: ServerSpec, folder: Path, name: str, primary: Server) -> None:
        super().__init__(spec, folder)
        self._name = name
        self._primary = primary

    def _initialise(self) -> None:
        """Copies the primary's data between the two calls that its manual asks for; the slot keeps
        the log that is written meanwhile."""
        begin, end = (
            ("pg_backup_start('replica', true)", "pg_backup_stop(false)")
            if self._major >= 15
            else ("pg_start_backup('replica', true, false)", "pg_stop_backup(false, false)")
        )
        source = self._primary.node.data_folder()
        assert source is not None, "a primary of ours has its own folder"
        session = self._primary.database.inside()
        try:
            session.rows(f"SELECT pg_create_physical_replication_slot('{self._slot}', true)")
            session.rows(f"SELECT {begin}")
            shutil.copytree(source, self._data, ignore=_left_out, copy_function=_copy_if_there)
            label = only_row(session.rows(f"SELECT labelfile FROM {end}"), end)["labelfile"]
        except OSError as error:
            raise ServerError(f"could not copy the primary's data: {error}") from error
        finally:
            session.close()
        (self._data / "backup_label").write_text(label)
        (self._data / "standby.signal").touch()
        self._daemon.give(self._data)
        for path in self._data.rglob("*"):
            self._daemon.give(path)

    def _furnish(self) -> None:
        """Nothing to make: the database is a copy."""

    def _configure(self) -> None:
        """Adds where the primary listens now: its port changes when it is started again."""
        target: Mapping[str, Any] = self._primary.entry.target("unix")
        (place,) = target["endpoints"]
        folder, _, port = place["unix"].rpartition("/.s.PGSQL.")
        self._asked["primary_conninfo"] = (
            f"host={folder} port={port} user={ROLE} application_name={self._name}"
        )
        self._asked["primary_slot_name"] = self._slot
        super()._configure()

    @property
    def _slot(self) -> str:
        return self._name.replace("-", "_")


def _left_out(folder: str, names: list[str]) -> list[str]:
    """As `copytree` asks for it."""
    return names if Path(folder).name in _LEFT_OUT else [n for n in names if n in _ITS_OWN]


def _copy_if_there(source: str, target: str) -> None:
    """Skips files that the running primary has removed: the log repeats what became of them."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)
