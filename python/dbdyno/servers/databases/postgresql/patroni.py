"""A PostgreSQL server that Patroni starts, watches and promotes: a node of its cluster."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.servers.databases.postgresql.query import PostgresqlSession
from dbdyno.servers.databases.postgresql.server import PostgresqlServer
from dbdyno.servers.nodes.daemon import free_port
from dbdyno.servers.protocol import ROLE, ServerSpec

PATRONI = "patroni"
"""The program, as Debian's package installs it."""
_REPLICATOR = "replicator"
_ANSWER_LIMIT_S = 10.0
_SCOPE = "dbdyno"
_REMOVED = re.compile(r"Removing (?:unexpected|invalid) parameter=(\S+)")


@dataclass(frozen=True, slots=True)
class Cluster:
    """What all nodes of a cluster have in common."""

    store: str
    """Host and port of etcd."""
    timing_s: Mapping[str, int]
    """`ttl`, `loop_wait` and `retry_timeout`."""
    is_synchronous: bool


class _ReopenedSession(PostgresqlSession):
    """Patroni may start its server anew between two questions, all of which only read."""

    def rows(self, statement: str, *parameters: object) -> Sequence[dict[str, Any]]:
        """Asks once more in a new connection if the first is lost."""
        try:
            return super().rows(statement, *parameters)
        except LostError:
            return super().rows(statement, *parameters)


class PatroniNode(PostgresqlServer):
    """Its process is Patroni, with PostgreSQL below it; both end together."""

    _STOP = signal.SIGINT
    """Patroni gives up its lead, then stops PostgreSQL in order."""
    _DROP = signal.SIGTERM
    """Both are killed at once, and shared memory is removed."""

    def __init__(self, spec: ServerSpec, folder: Path, name: str, nodes: list[PatroniNode]) -> None:
        """`nodes`: all of the cluster that were made before it; it adds itself. `cluster` must be
        set before it is started."""
        super().__init__(spec, folder)
        self.cluster = Cluster("", {}, is_synchronous=False)
        self._name = name
        self._nodes = nodes
        self._rest_port = 0
        if nodes:
            self.share_password(nodes[0])  # Its accounts are a copy.
        nodes.append(self)

    def health_check(self) -> tuple[int, str]:
        """Port and path that answer 200 where this node is the primary."""
        return self._rest_port, "/primary"

    def status(self) -> Mapping[str, Any]:
        """What Patroni says of its server: `state`, `role`. Raises `ServerError`."""
        return self._called("/patroni")

    def is_primary(self) -> bool:
        """Whether it takes writes; not if Patroni does not answer."""
        try:
            status = self.status()
        except ServerError:
            return False
        return status.get("state") == "running" and status.get("role") in ("master", "primary")

    def switch_over(self) -> None:
        """Has the cluster choose another primary in place of this one; returns when it has."""
        self._called("/switchover", {"leader": self._name})

    def kill_server(self) -> None:
        """Kills PostgreSQL alone; Patroni starts it again."""
        try:
            pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError) as error:
            raise ServerError(f"{self._name} has no PostgreSQL that runs: {error}") from error
        if pid not in self._daemon.processes():
            raise ServerError(f"{self._name} has no PostgreSQL that runs")
        self._daemon.guarded.run(["kill", "-KILL", str(pid)])

    def kill(self) -> None:
        """Kills Patroni and PostgreSQL, as the end of their machine would."""
        self._end(self._DROP)

    def _initialise(self) -> None:
        """Patroni makes the data: new on the first node, a copy on the others."""

    def _furnish(self) -> None:
        """The others have copies."""
        if self is self._nodes[0]:
            super()._furnish()

    def _configure(self) -> None:
        self._take_port()
        self._rest_port = self._rest_port or free_port()
        self._daemon.write_private(self._file, json.dumps(self._configuration()))  # JSON is YAML

    @property
    def _file(self) -> Path:
        return self._folder / "patroni.yml"

    def _configuration(self) -> Mapping[str, object]:
        superuser = {"username": ROLE, "password": self._password}
        rest = f"{self._address}:{self._rest_port}"
        server = f"{self._address}:{self._port}"
        admitted = "samenet" if self._spec.launch.address else "127.0.0.1/32"
        initdb: list[object] = [{"encoding": "UTF8"}, {"locale": "C"}, "no-sync"]
        initdb += [option.removeprefix("--") for option in self._checksum_options()]
        initdb += [{"auth-local": "trust"}, {"auth-host": "scram-sha-256"}]
        return {
            "scope": _SCOPE,
            "name": self._name,
            "restapi": {
                "listen": rest,
                "connect_address": rest,
                "authentication": superuser,
            },
            "etcd3": {"host": self.cluster.store},
            "bootstrap": {
                "dcs": {
                    **self.cluster.timing_s,
                    "synchronous_mode": self.cluster.is_synchronous,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "use_slots": True,
                        # Without them a node that was killed could not follow again.
                        "parameters": {
                            "wal_log_hints": "on",
                            "wal_keep_size": "128MB",
                            **self._asked,
                        },
                    },
                },
                "initdb": initdb,
            },
            "postgresql": {
                "listen": server,
                "connect_address": server,
                "data_dir": str(self._data),
                "bin_dir": str(self._programs_folder),
                "pgpass": str(self._folder / "pgpass"),
                "basebackup": [{"checkpoint": "fast"}],
                "authentication": {
                    "superuser": superuser,
                    "replication": {**superuser, "username": _REPLICATOR},
                    "rewind": superuser,
                },
                "pg_hba": [
                    "local all all trust",
                    f"host all all {admitted} scram-sha-256",
                    f"host replication all {admitted} scram-sha-256",
                ],
                "parameters": {"unix_socket_directories": str(self._sockets), **self._asked},
            },
        }

    def _start_process(self) -> None:
        self._daemon.launch(
            [PATRONI, self._file],
            cwd=self._folder,
            env=self._environment("PG", "PATRONI"),
            death_signal=signal.SIGKILL,
            kept=True,
        )

    def _launch(self) -> None:
        super()._launch()
        self._session = _ReopenedSession(
            host=str(self._sockets), port=self._port, user=ROLE, dbname="postgres"
        )

    def _greet(self) -> None:
        """Waits for Patroni, too, and for the first node's lead where no other has it."""
        self._refuse_removed_settings()
        try:
            status = self.status()
        except ServerError as error:
            raise ConnectError(error.message) from error
        if status.get("state") != "running":
            raise ConnectError(f"Patroni says `{status.get('state')}`")
        if not any(node.is_primary() for node in self._nodes):
            raise ConnectError("the cluster has no primary yet")
        super()._greet()

    def _refuse_removed_settings(self) -> None:
        """Patroni leaves out what it does not know, and says so in its log alone."""
        for name in _REMOVED.findall(self._logged()):
            if name in self._asked:
                raise ServerError(
                    f"{self._daemon.name}: Patroni takes no setting `{name}` with this value",
                    hint=self._daemon.log_tail(),
                )

    def _called(self, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, Any]:
        """Patroni's answer, which it also gives with codes of errors. Raises `ServerError`."""
        call = urllib.request.Request(f"http://{self._address}:{self._rest_port}{path}")
        if body is not None:
            call.data = json.dumps(body).encode()
            secret = b64encode(f"{ROLE}:{self._password}".encode()).decode()
            call.add_header("Authorization", f"Basic {secret}")
        limit_s = _ANSWER_LIMIT_S if body is None else sum(self.cluster.timing_s.values())
        # A proxy of the environment must not come between.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(call, timeout=limit_s) as answer:
                text = answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            if body is not None:
                raise ServerError(f"{self._name}: Patroni refuses: {text.strip()}") from error
        except (OSError, HTTPException) as error:
            raise ServerError(f"{self._name}: Patroni does not answer: {error}") from error
        try:
            return dict(json.loads(text)) if body is None else {"answer": text}
        except ValueError as error:
            raise ServerError(f"{self._name}: Patroni answers `{text.strip()}`") from error


RESERVED: Sequence[str] = (
    "cluster_name",
    "hot_standby",
    "primary_conninfo",
    "primary_slot_name",
    "synchronous_standby_names",
)
"""Settings that Patroni makes itself."""
