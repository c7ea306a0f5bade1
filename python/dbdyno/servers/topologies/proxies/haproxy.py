"""HAProxy as a TCP proxy for any protocol: one server connection for each client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.servers.topologies.proxies.proxy import (
    OWN_FILES,
    Post,
    Proxy,
    open_files,
    refuse_reserved,
    whole,
)

_RESERVED = frozenset({"chroot", "daemon", "group", "pidfile", "stats", "user"})
_FILE = "haproxy.cfg"
_TIMEOUT = "1d"


class Haproxy:
    """Its settings are those of HAProxy's section `global`: `nbthread = 1`."""

    name: ClassVar[str] = "haproxy"
    kinds: ClassVar[Sequence[str]] = ("postgresql", "mysql", "mariadb")
    reads: ClassVar[bool] = False
    within: ClassVar[Sequence[str]] = ()

    def check(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that dbdyno sets itself."""
        refuse_reserved(settings, _RESERVED)

    def write(self, post: Post) -> None:
        """Two listeners, one server: it is reached over TCP, as by clients without a proxy."""
        ours = {"maxconn": str(self.most_clients(post.settings)), **post.settings}
        lines = [
            "global",
            *(f"  {name} {value}" for name, value in ours.items()),
            "defaults",
            "  mode tcp",
            *(f"  timeout {what} {_TIMEOUT}" for what in ("client", "server")),
            "  timeout connect 10s",
            "listen database",
            f"  bind {post.address}:{post.port}",
            f"  bind unix@{self.socket(post)}",
            f"  server one {post.server.host}:{post.server.port}",
        ]
        (post.folder / _FILE).write_text("\n".join(lines) + "\n")

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """Runs in the foreground."""
        return ["-db", "-f", folder / _FILE]

    def socket(self, post: Post) -> Path:
        """A socket beside its configuration."""
        return post.folder / "haproxy.sock"

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """Each client takes two open files."""
        return whole(settings, "maxconn", max(1, (open_files() - OWN_FILES) // 2))

    def server_connections(self, settings: Mapping[str, str]) -> None:
        """As many server connections as clients."""

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """It does not interpret the protocol."""
        return True


PROXY: Proxy = Haproxy()
