"""pgbouncer: many PostgreSQL clients on few server connections. Each process has one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.servers.topologies.proxies.proxy import (
    OWN_FILES,
    Post,
    Proxy,
    Redirect,
    open_files,
    refuse_reserved,
    whole,
)

_RESERVED = frozenset(
    {
        "auth_file",
        "auth_type",
        "listen_addr",
        "listen_port",
        "logfile",
        "pidfile",
        "unix_socket_dir",
        "user",
    }
)
_POOL = 20
"""Server connections by default."""
_OURS = {
    "pool_mode": "transaction",
    "default_pool_size": str(_POOL),
    "listen_backlog": "4096",
    "log_connections": "0",
    "log_disconnections": "0",
    "ignore_startup_parameters": "extra_float_digits",
}
_FILE, _USERS = "pgbouncer.ini", "users.txt"


class Pgbouncer:
    """Its settings are those of pgbouncer's section `pgbouncer`."""

    name: ClassVar[str] = "pgbouncer"
    kinds: ClassVar[Sequence[str]] = ("postgresql",)
    checks_health: ClassVar[bool] = False
    reads: ClassVar[bool] = True
    forks: ClassVar[bool] = False
    within: ClassVar[Sequence[str]] = ()

    @property
    def redirect(self) -> Redirect | None:
        """It stays with its server."""
        return None

    def check(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that dbdyno sets itself."""
        refuse_reserved(settings, _RESERVED)

    def write(self, post: Post) -> None:
        """One database, one role; the study's settings come last."""
        role, socket = post.server.role, post.server.socket
        place = f"host={socket.parent} port={post.server.port} user={role}"
        lines = {
            **_OURS,
            "listen_addr": post.address,
            "listen_port": str(post.port),
            "unix_socket_dir": str(post.folder),
            "auth_type": "md5",
            "auth_file": str(post.folder / _USERS),
            "stats_users": role,
            **post.settings,
            # One for the session that asks for its statistics.
            "max_client_conn": str(self.most_clients(post.settings) + 1),
        }
        text = "".join(f"{name} = {value}\n" for name, value in lines.items())
        (post.folder / _FILE).write_text(
            f"[databases]\n{post.server.database} = {place}\n[pgbouncer]\n{text}"
        )
        users = post.folder / _USERS
        users.touch(mode=0o600)
        users.write_text(f'"{role}" "{post.server.password}"\n')

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """Runs in the foreground."""
        return [folder / _FILE]

    def socket(self, post: Post) -> Path:
        """A socket named as PostgreSQL's."""
        return post.folder / f".s.PGSQL.{post.port}"

    def metrics(self, post: Post) -> str:
        """Its clients', where a database of its own answers."""
        return str(self.socket(post))

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """Limited by its open files, or by the study."""
        room = open_files() - OWN_FILES - self.server_connections(settings)
        return whole(settings, "max_client_conn", max(1, room))

    def server_connections(self, settings: Mapping[str, str]) -> int:
        """Connections of its pool, at most."""
        return whole(settings, "default_pool_size", _POOL)

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """In session pooling; otherwise if configured (from 1.21)."""
        value = settings.get("max_prepared_statements", "0")
        return settings.get("pool_mode") == "session" or value != "0"


PROXY: Proxy = Pgbouncer()
