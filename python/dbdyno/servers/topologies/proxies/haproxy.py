"""HAProxy as a TCP proxy for any protocol: one server connection for each client.

Before several servers it checks each one's health, sends all clients to one, and to the next when
that one is down. They stay there when the first is back. Where a supervisor chooses the primary,
its health is what that says. Before a primary and its replicas, dbdyno chooses the server, by
HAProxy's socket for commands.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ServerError
from dbdyno.servers.topologies.proxies.proxy import (
    OWN_FILES,
    Behind,
    Post,
    Proxy,
    Redirect,
    open_files,
    refuse_reserved,
    whole,
)

_RESERVED = frozenset({"chroot", "daemon", "group", "pidfile", "stats", "user"})
_FILE = "haproxy.cfg"
_TIMEOUT = "1d"
_COMMANDS = "commands.sock"
_LISTENER = "database"
_ANSWER_LIMIT_S = 5.0
_OF_CHECKS = ("inter", "fastinter", "downinter", "fall", "rise")


def _checks(server: Behind, asked: Sequence[str]) -> Sequence[str]:
    checked = "mysql-check" if server.driver == "mysql" else f"pgsql-check user {server.role}"
    if server.health is not None:
        checked = f"httpchk GET {server.health[1]}"
    return (
        f"  option {checked}",
        f"  default-server check {' '.join(asked)} on-marked-down shutdown-sessions",
    )


def _chosen(post: Post) -> Iterator[str]:
    for place, server in enumerate((post.server, *post.standby)):
        disabled = " disabled" if place else ""
        yield f"  server {_named(place)} {server.host}:{server.port}{disabled}"


def _named(place: int) -> str:
    return f"node-{place + 1}"


def _redirect(post: Post, place: int) -> None:
    others = [_named(other) for other in range(1 + len(post.standby)) if other != place]
    for command in (
        f"enable server {_LISTENER}/{_named(place)}",
        *(f"disable server {_LISTENER}/{name}" for name in others),
        *(f"shutdown sessions server {_LISTENER}/{name}" for name in others),
    ):
        try:
            with socket.socket(socket.AF_UNIX) as commands:
                commands.settimeout(_ANSWER_LIMIT_S)
                commands.connect(str(post.folder / _COMMANDS))
                commands.sendall(f"{command}\n".encode())
                answer = commands.recv(4096).decode(errors="replace").strip()
        except OSError as error:
            raise ServerError(f"HAProxy takes no commands: {error}") from error
        if answer:
            raise ServerError(f"HAProxy refuses `{command}`: {answer}")


class Haproxy:
    """Its settings are those of HAProxy's section `global`: `nbthread = 1`; and of its health
    checks: `inter` (2s), `fall` (3) and `rise` (2)."""

    name: ClassVar[str] = "haproxy"
    kinds: ClassVar[Sequence[str]] = ("postgresql", "mysql", "mariadb")
    checks_health: ClassVar[bool] = True
    reads: ClassVar[bool] = False
    forks: ClassVar[bool] = False
    within: ClassVar[Sequence[str]] = ()

    @property
    def redirect(self) -> Redirect | None:
        """By its socket for commands."""
        return _redirect

    def check(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that dbdyno sets itself."""
        refuse_reserved(settings, _RESERVED)

    def write(self, post: Post) -> None:
        """Two listeners; servers are reached over TCP, as by clients without a proxy."""
        settings = {k: v for k, v in post.settings.items() if k not in _OF_CHECKS}
        ours = {"maxconn": str(self.most_clients(post.settings)), **settings}
        lines = [
            "global",
            f"  stats socket {self.metrics(post)} level {'admin' if post.chosen else 'user'}",
            *(f"  {name} {value}" for name, value in ours.items()),
            "defaults",
            "  mode tcp",
            *(f"  timeout {what} {_TIMEOUT}" for what in ("client", "server")),
            "  timeout connect 10s",
            f"listen {_LISTENER}",
            f"  bind {post.address}:{post.port}",
            f"  bind unix@{self.socket(post)}",
            *_servers(post),
        ]
        (post.folder / _FILE).write_text("\n".join(lines) + "\n")

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """Runs in the foreground."""
        return ["-db", "-f", folder / _FILE]

    def socket(self, post: Post) -> Path:
        """A socket beside its configuration."""
        return post.folder / "haproxy.sock"

    def metrics(self, post: Post) -> str:
        """That for commands."""
        return str(post.folder / _COMMANDS)

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """Each client takes two open files."""
        return whole(settings, "maxconn", max(1, (open_files() - OWN_FILES) // 2))

    def server_connections(self, settings: Mapping[str, str]) -> None:
        """As many server connections as clients."""

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """It does not interpret the protocol."""
        return True


def _servers(post: Post) -> Sequence[str]:
    first = post.server
    asked = [f"{name} {post.settings[name]}" for name in _OF_CHECKS if name in post.settings]
    if post.chosen:
        # A refused connection is refused to the client, as without a proxy; HAProxy would try the
        # same server again after a second.
        return ["  retries 0", *(_checks(first, asked) if asked else ()), *_chosen(post)]
    if not post.standby and not asked:
        return [f"  server one {first.host}:{first.port}"]
    lines = [
        *_checks(first, asked),
        # All connections share an entry, the server chosen last; a full table could not change it.
        "  stick-table type ip size 100",
        "  stick on dst",
        "  option redispatch",
        f"  server node-1 {_checked_place(first)}",
    ]
    for number, other in enumerate(post.standby, start=2):
        lines.append(f"  server node-{number} {_checked_place(other)} backup")
    return lines


def _checked_place(server: Behind) -> str:
    place = f"{server.host}:{server.port}"
    return place if server.health is None else f"{place} port {server.health[0]}"


PROXY: Proxy = Haproxy()
