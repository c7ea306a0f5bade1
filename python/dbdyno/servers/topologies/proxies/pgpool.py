"""pgpool-II: a process for each PostgreSQL client, and a cache of results in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.servers.topologies.proxies.proxy import (
    Post,
    Proxy,
    Redirect,
    refuse_reserved,
    whole,
)

_RESERVED = frozenset(
    {
        "enable_pool_hba",
        "listen_addresses",
        "logdir",
        "memqcache_oiddir",
        "pcp_listen_addresses",
        "pcp_socket_dir",
        "pid_file_name",
        "port",
        "socket_dir",
        "unix_socket_directories",
    }
)
_BACKEND = "backend_"
"""Settings that begin so name the servers behind it."""
_CLIENTS = 32
"""Processes, hence clients, by default: that of pgpool."""
_OURS = {
    "backend_clustering_mode": "streaming_replication",
    "load_balance_mode": "off",
    "process_management_mode": "static",
    "max_pool": "1",
    "health_check_period": "0",
    "sr_check_period": "0",
}
"""One server of one database and one role; the lab itself watches it."""
_FILE, _HBA, _PCP = "pgpool.conf", "pool_hba.conf", "pcp.conf"


class Pgpool:
    """Its settings are those of `pgpool.conf`. The cache is off unless they turn it on
    (`memory_cache_enabled = on`): a write past pgpool, as a load of data is, leaves the results of
    before in it."""

    name: ClassVar[str] = "pgpool"
    kinds: ClassVar[Sequence[str]] = ("postgresql",)
    checks_health: ClassVar[bool] = False
    reads: ClassVar[bool] = True
    forks: ClassVar[bool] = True
    within: ClassVar[Sequence[str]] = ("unshare", "--map-current-user", "--ipc")
    """Its shared memory and semaphores outlive a process that is killed, unless they belong to a
    namespace that ends with it."""

    @property
    def redirect(self) -> Redirect | None:
        """It stays with its server."""
        return None

    def check(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that dbdyno sets itself."""
        refuse_reserved(
            settings, _RESERVED | {name for name in settings if name.startswith(_BACKEND)}
        )

    def write(self, post: Post) -> None:
        """One server, which never fails over; the study's settings come last."""
        folder = post.folder
        lines = {
            **_OURS,
            "num_init_children": str(_CLIENTS),
            "listen_addresses": post.address,
            "port": str(post.port),
            "socket_dir": str(folder),
            "unix_socket_directories": str(folder),
            "pcp_listen_addresses": "",
            "pcp_socket_dir": str(folder),
            "pid_file_name": str(folder / "pgpool.pid"),
            "logdir": str(folder),
            "memqcache_method": "shmem",
            "memqcache_oiddir": str(folder),
            "enable_pool_hba": "off",
            "pool_passwd": "",
            "backend_hostname0": str(post.server.socket.parent),
            "backend_port0": str(post.server.port),
            "backend_weight0": "1",
            "backend_flag0": "ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER",
            **post.settings,
        }
        (folder / _FILE).write_text(
            "".join(f"{name} = '{_quoted(value)}'\n" for name, value in lines.items())
        )
        (folder / _HBA).touch()
        (folder / _PCP).touch()

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """Runs in the foreground."""
        return ["-n", "-f", folder / _FILE, "-a", folder / _HBA, "-F", folder / _PCP]

    def socket(self, post: Post) -> Path:
        """A socket named as PostgreSQL's."""
        return post.folder / f".s.PGSQL.{post.port}"

    def metrics(self, _post: Post) -> None:
        """It has them at its clients' port; no collector reads them there."""

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """A process for each: further clients wait until one is free."""
        return whole(settings, "num_init_children", _CLIENTS)

    def server_connections(self, settings: Mapping[str, str]) -> int:
        """`max_pool` for each of its processes."""
        return self.most_clients(settings) * whole(settings, "max_pool", int(_OURS["max_pool"]))

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """A client keeps its server connection."""
        return True


def _quoted(value: str) -> str:
    return value.replace("'", "''")


PROXY: Proxy = Pgpool()
