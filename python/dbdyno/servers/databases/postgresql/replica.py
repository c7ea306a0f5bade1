"""A PostgreSQL server that streams from another, a physical replica, or that others stream from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import MachineError, ServerError
from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.postgresql import copying
from dbdyno.servers.databases.postgresql.server import PostgresqlServer
from dbdyno.servers.protocol import ROLE, Server, ServerSpec

_COPY_LIMIT_S = 3600.0
_WAITS_FOR = "synchronous_standby_names"


class PostgresqlMember(PostgresqlServer):
    """A primary, or a replica, which is read-only and begins as a copy of its primary, which runs.
    Their places can change."""

    def __init__(
        self, spec: ServerSpec, folder: Path, name: str, primary: Server | None = None
    ) -> None:
        super().__init__(spec, folder)
        if isinstance(primary, PostgresqlServer):
            self.share_password(primary)  # Its accounts are a copy.
        self._name = name
        self._primary = primary

    def promote(self, limit_s: float) -> None:
        """Makes a replica that runs a primary, for whose replicas no commit waits yet; returns once
        it takes writes. Raises `ServerError` if that takes longer."""
        session = self.inside()
        try:
            asked = f"SELECT pg_promote(true, {max(1, round(limit_s))}) AS promoted"
            if not only_row(session.rows(asked), asked)["promoted"]:
                raise ServerError(f"{self._name} is no primary after {limit_s:.0f} s")
        finally:
            session.close()
        self._primary = None

    def follow(self, primary: Server, limit_s: float) -> None:
        """Has a replica that runs follow another primary, which has all that it has."""
        self._primary = primary
        session = primary.database.inside()
        try:
            self._make_slot(session)
        finally:
            session.close()
        self.stop()
        self.restart(limit_s)

    def copy_anew(self, primary: Server, limit_s: float) -> None:
        """Starts a server, which has ended, as a replica with the data of this primary."""
        self._primary = primary
        self._copy(primary)
        self.restart(limit_s)

    def _initialise(self) -> None:
        if self._primary is None:
            super()._initialise()
        else:
            self._copy(self._primary)

    def _copy(self, primary: Server) -> None:
        """Copies the primary's data between the two calls that its manual asks for; the slot keeps
        the log that is written meanwhile."""
        begin, end = (
            ("pg_backup_start('replica', true)", "pg_backup_stop(false)")
            if self._major >= 15
            else ("pg_start_backup('replica', true, false)", "pg_stop_backup(false, false)")
        )
        source = primary.node.data_folder()
        assert source is not None, "a primary of ours has its own folder"
        session = primary.database.inside()
        try:
            self._make_slot(session)
            session.rows(f"SELECT {begin}")
            program = [sys.executable, "-I", "-S", copying.__file__]
            self._daemon.guarded.run([*program, source, self._data], limit_s=_COPY_LIMIT_S)
            label = only_row(session.rows(f"SELECT labelfile FROM {end}"), end)["labelfile"]
        except MachineError as error:
            raise ServerError("could not copy the primary's data", hint=error.hint) from error
        finally:
            session.close()
        # A promoted replica has no replicas yet that its commits could wait for. Nor may it reload
        # its settings then: a promotion right after takes up to five seconds.
        altered = self._data / "postgresql.auto.conf"
        lines = altered.read_text().splitlines(keepends=True)
        altered.write_text("".join(line for line in lines if not line.startswith(_WAITS_FOR)))
        for name, text in (("backup_label", label), ("standby.signal", "")):
            (self._data / name).write_text(text)
            self._daemon.give(self._data / name)

    def _furnish(self) -> None:
        """A replica's database is a copy."""
        if self._primary is None:
            super()._furnish()

    def _make_slot(self, session: Session) -> None:
        """In its primary, unless it has one there."""
        there = "SELECT FROM pg_replication_slots WHERE slot_name = "
        session.rows(
            f"SELECT pg_create_physical_replication_slot('{self._slot}', true) "
            f"WHERE NOT EXISTS ({there}'{self._slot}')"
        )

    def _configure(self) -> None:
        """Adds where the primary listens now: its port changes when it is started again."""
        if self._primary is None:
            for setting in ("primary_conninfo", "primary_slot_name"):
                self._asked.pop(setting, None)
            super()._configure()
            return
        # A fault can cut a link, not a socket.
        target: Mapping[str, Any] = self._primary.entry.target(
            "tcp" if self.launched.hub else "unix"
        )
        (place,) = target["endpoints"]
        if "tcp" in place:
            host, port = place["tcp"]["host"], place["tcp"]["port"]
            password = f" password={target['password']}"
        else:
            host, _, port = place["unix"].rpartition("/.s.PGSQL.")
            password = ""
        self._asked["primary_conninfo"] = (
            f"host={host} port={port} user={ROLE} application_name={self._name}{password}"
        )
        self._asked["primary_slot_name"] = self._slot
        super()._configure()

    @property
    def _slot(self) -> str:
        return self._name.replace("-", "_")
