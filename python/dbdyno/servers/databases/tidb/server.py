"""A TiDB server of one run: a single process with its own store, socket and port; removed
afterwards.

Settings of a study are system variables by their names (`tidb_mem_quota_query`), and keys of TiDB's
configuration file by names with dots or hyphens (`performance.max-procs`, `token-limit`).
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mysql.compatible import MysqlCompatible, typed
from dbdyno.servers.databases.mysql.contents import contents
from dbdyno.servers.databases.mysql.session_setting import literal
from dbdyno.servers.databases.tidb import query
from dbdyno.servers.databases.tidb.program import PROGRAM
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.protocol import Capacity, Members, ServerSpec
from dbdyno.servers.setting import unknown_setting


class TidbServer(MysqlCompatible):
    """It makes its account with its store, which has a log of 256 MB from the beginning, and serves
    its metrics by HTTP."""

    _TITLE = "TiDB"
    _RESERVED = frozenset(
        {
            "advertise-address",
            "datadir",
            "host",
            "initialize-sql-file",
            "path",
            "port",
            "security.ssl-cert",
            "security.ssl-key",
            "socket",
            "status.report-status",
            "status.status-host",
            "status.status-port",
            "store",
            "temp-dir",
            "tmp-storage-path",
        }
    )

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(spec, folder)
        self._status_port = 0

    def start(self) -> None:
        """Installs and configures it, starts it with account and database, waits until it takes
        statements, and sets the study's variables."""
        self._folder = self._install()
        for folder in (self._data, self._temporary):
            folder.mkdir()
            self._daemon.give(folder, mode=0o700)
        statements = self._account_statements() + "DROP USER 'root'@'%';\n"
        self._daemon.write_private(self._accounts, statements)
        self._serve()
        self._accounts.unlink()
        self._set_variables()

    def restart(self, limit_s: float) -> None:
        """Starts it again; variables of one process are set anew."""
        super().restart(limit_s)
        self._set_variables()

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM

    @property
    def _temporary(self) -> Path:
        return self._folder / "temporary"

    @property
    def _accounts(self) -> Path:
        """Statements that TiDB carries out when it makes its store."""
        return self._folder / "accounts.sql"

    @property
    def _socket(self) -> Path:
        return self._sockets / "tidb.sock"

    @property
    def _configuration(self) -> Path:
        return self._folder / "config.toml"

    @property
    def members(self) -> Members:
        """None: it is a single server, which tells its metrics by HTTP."""
        return Members(exposed={PROGRAM: [f"{self._address}:{self._status_port}"]})

    def _configure(self) -> None:
        """Writes its configuration file; a text of JSON is one of TOML, too."""
        self._take_port()
        self._status_port = free_port()
        self._socket.unlink(missing_ok=True)  # A killed one leaves it, and it is in the way.
        keys: dict[str, object] = {
            "store": "unistore",
            "path": str(self._data),
            "host": self._address,
            "advertise-address": self._address,
            "port": self._port,
            "socket": str(self._socket),
            "temp-dir": str(self._temporary),
            "tmp-storage-path": str(self._temporary / "spilled"),
            "status.status-host": self._address,
            "status.status-port": self._status_port,
        }
        if self._accounts.exists():
            keys["initialize-sql-file"] = str(self._accounts)
        if files := self._secured(self._folder):
            keys["security.ssl-cert"] = str(files["certificate"])
            keys["security.ssl-key"] = str(files["key"])
        keys |= {
            name: _typed(value) for name, value in self._spec.settings.items() if _is_key(name)
        }
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
        self._daemon.write_private(self._configuration, "".join(lines))

    def _launch(self) -> None:
        self._launch_program(
            [self._program, f"-config={self._configuration}", "-config-strict"],
            self._environment("TIDB", "MYSQL"),
            signal.SIGKILL,
        )

    def _set_variables(self) -> None:
        """Sets the study's system variables. Raises `ServerError` for what TiDB does not take."""
        known = self.settings()
        for name, value in self._spec.settings.items():
            if _is_key(name):
                continue
            if name not in known:
                otherwise = "`SHOW GLOBAL VARIABLES` of a running TiDB lists all"
                raise unknown_setting(self._daemon.name, name, known, otherwise)
            self._session.rows(f"SET GLOBAL {name} = {literal(value)}")

    def _not_started(self, reason: str) -> ServerError:
        log, name = self._logged(), self._daemon.name
        if unknown := re.search(r"invalid configuration options: ([^,;]+)", log):
            otherwise = "TiDB's manual lists the keys of its configuration file"
            return unknown_setting(name, unknown[1], (), otherwise)
        stated = re.findall(r'\[FATAL\].*?\[error="((?:[^"\\]|\\.)*)"', log)
        why = stated[-1].replace('\\"', '"') if stated else reason
        return ServerError(f"{name} did not start: {why}", hint=self._daemon.log_tail())

    def _stated_facts(self) -> Mapping[str, object]:
        return query.facts(self._session)

    def counters(self) -> Mapping[str, int]:
        """None: its status variables count no work, and its metrics are sampled."""
        return {}

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the database under load."""
        return contents(self.inside(), table, checksum=checksum)


def _is_key(name: str) -> bool:
    """Whether a setting is a key of the configuration file; system variables have underscores."""
    return "." in name or "-" in name or name in ("cors", "lease")


def _typed(value: str) -> object:
    """A fraction as such, too."""
    return float(value) if re.fullmatch(r"-?\d+\.\d+", value) else typed(value)
