"""A Dolt server of one run, with its own data folder, socket and port; removed afterwards.

Settings of a study are system variables, and keys of Dolt's configuration file by names with dots:
behavior.auto_gc_behavior.enable.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.dolt import query
from dbdyno.servers.databases.dolt.contents import contents
from dbdyno.servers.databases.dolt.program import PROGRAM
from dbdyno.servers.databases.mysql import query as mysql
from dbdyno.servers.databases.mysql.compatible import MysqlCompatible, typed
from dbdyno.servers.protocol import ROLE, Capacity
from dbdyno.servers.setting import unknown_setting

_INIT_LIMIT_S = 120.0


class DoltServer(MysqlCompatible):
    """Its account is the same on its Unix socket: Dolt takes a client of either for one of
    localhost."""

    _TITLE = "Dolt"
    _RESERVED = frozenset(
        {
            "cfg_dir",
            "data_dir",
            "listener.host",
            "listener.port",
            "listener.socket",
            "listener.tls_cert",
            "listener.tls_key",
            "port",
            "privilege_file",
            "socket",
        }
    )

    def start(self) -> None:
        """Installs, makes account and database, configures, starts and waits until it takes
        statements."""
        self._folder = self._install()
        for folder in (self._data, self._home / ".dolt"):
            folder.mkdir(parents=True)
            self._daemon.give(folder, mode=0o700)
        self._daemon.give(self._home)
        # Dolt reports its use to its makers by default, and looks for newer releases.
        quiet = {"metrics.disabled": "true", "versioncheck.disabled": "true"}
        identity = {"user.name": ROLE, "user.email": f"{ROLE}@localhost"}
        self._daemon.write_private(
            self._home / ".dolt/config_global.json", json.dumps({**quiet, **identity})
        )
        self._make_account()
        self._serve()

    @property
    def _program(self) -> Path:
        return self._installed().folder / PROGRAM

    @property
    def _home(self) -> Path:
        return self._folder / "home"

    @property
    def _socket(self) -> Path:
        return self._sockets / "dolt.sock"

    @property
    def _configuration(self) -> Path:
        return self._folder / "config.yaml"

    def _own_environment(self) -> Mapping[str, str]:
        return {**self._environment("DOLT", "MYSQL"), "HOME": str(self._home)}

    def _make_account(self) -> None:
        """Before the first start: otherwise the server makes a `root` without a password."""
        statements = self._folder / "accounts.sql"
        self._daemon.write_private(statements, self._account_statements())
        self._daemon.run_helper(
            [self._program, f"--data-dir={self._data}", "sql"],
            cwd=self._data,
            env=self._own_environment(),
            limit_s=_INIT_LIMIT_S,
            stdin=statements,
        )
        statements.unlink()

    def _configure(self) -> None:
        """Writes its configuration file; JSON is YAML, too."""
        self._take_port()
        self._socket.unlink(missing_ok=True)  # A killed one leaves it, and it is in the way.
        listener: dict[str, object] = {
            "host": self._address,
            "port": self._port,
            "socket": str(self._socket),
        }
        if files := self._secured(self._folder):
            listener |= {"tls_cert": str(files["certificate"]), "tls_key": str(files["key"])}
        variables: dict[str, object] = {}
        document: dict[str, object] = {
            "data_dir": str(self._data),
            "listener": listener,
            "system_variables": variables,
        }
        for name, value in self._spec.settings.items():
            if "." in name:
                _put(document, name, typed(value))
            else:
                variables[name] = typed(value)
        self._daemon.write_private(self._configuration, json.dumps(document, indent=2))

    def _launch(self) -> None:
        self._launch_program(
            [self._program, "sql-server", f"--config={self._configuration}"],
            self._own_environment(),
            signal.SIGTERM,
        )

    def _not_started(self, reason: str) -> ServerError:
        log, name = self._logged(), self._daemon.name
        if unknown := re.search(r"Unknown system variable '(\S+)'", log):
            otherwise = "`SHOW GLOBAL VARIABLES` of a running Dolt lists all"
            return unknown_setting(name, unknown[1], (), otherwise)
        if unknown := re.search(r"field (\S+) not found in type", log):
            keys = [key for key in self._spec.settings if key.split(".")[-1] == unknown[1]]
            otherwise = "Dolt's manual lists the keys of its configuration file (config.yaml)"
            return unknown_setting(name, keys[0] if keys else unknown[1], (), otherwise)
        complaints = re.findall(r"(?im)^.*(?:error|invalid|can't be set|fail).*$", log)
        why = complaints[-1].strip() if complaints else reason
        return ServerError(f"{name} did not start: {why}", hint=self._daemon.log_tail())

    def _stated_facts(self) -> Mapping[str, object]:
        return query.facts(self._session)

    def counters(self) -> Mapping[str, int]:
        """Those that Dolt counts."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        # Its variable `back_log` is -1, whatever queue the server asks the kernel for.
        return replace(mysql.capacity(self._session), accept_queue=None)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the database under load."""
        return contents(self.inside(), table, checksum=checksum)


def _put(document: dict[str, object], name: str, value: object) -> None:
    """Sets a key of a table within tables, by its name with dots."""
    *tables, key = name.split(".")
    for table in tables:
        inner = document.setdefault(table, {})
        if not isinstance(inner, dict):
            raise ServerError(f"`{name}`: `{table}` has a value of its own and can't have keys")
        document = inner
    document[key] = value
