"""The interface of proxies: writing a configuration, and the program's arguments.

A kind is a module beside this one with a `PROXY`. It is a tool (`tool:pgbouncer`), started in as
many processes as a study asks for, each with its own port.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dbdyno.errors import UsageError
from dbdyno.servers.protocol import Wish

MOST_PROCESSES = 1000
OWN_FILES = 200
"""Open files of a proxy process besides its clients' sockets."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The server behind a proxy."""

    driver: str
    """The engine's name of its protocol."""
    socket: Path
    host: str
    port: int
    role: str
    password: str
    database: str
    health: tuple[int, str] | None = None
    """Port and path where HTTP answers 200 if it takes the clients; `None`: it is asked itself."""

    @classmethod
    def of(
        cls,
        unix: Mapping[str, Any],
        tcp: Mapping[str, Any],
        health: tuple[int, str] | None = None,
    ) -> Behind:
        """The server behind the proxies of these targets."""
        place = tcp["endpoints"][0]["tcp"]
        return cls(
            driver=tcp["driver"],
            socket=Path(unix["endpoints"][0]["unix"]),
            host=place["host"],
            port=place["port"],
            role=tcp["user"],
            password=tcp["password"],
            database=tcp["database"],
            health=health,
        )


@dataclass(frozen=True, slots=True)
class Post:
    """One proxy process: its place, and its server."""

    server: Behind
    address: str
    port: int
    folder: Path
    """Its own, where it may write; a socket in it must be short."""
    settings: Mapping[str, str]
    standby: Sequence[Behind] = ()
    """Servers that take the clients when the first has died, in this order."""
    chosen: bool = False
    """Whether the lab says which server takes the clients (`redirect`), and not health checks."""


Redirect = Callable[[Post, int], None]
"""Sends all clients of a post, whose server is `chosen`, to the server of a place, 0 for the first,
and ends the connections with the others. Raises `ServerError`."""


class Proxy(Protocol):
    """A kind of proxy."""

    name: ClassVar[str]
    kinds: ClassVar[Sequence[str]]
    """Servers it supports."""
    checks_health: ClassVar[bool]
    """Whether it notices that a server has died, and sends clients to another."""
    reads: ClassVar[bool]
    """Whether it interprets the protocol: clients then negotiate with the proxy."""
    forks: ClassVar[bool]
    """Whether it is several processes, of which some go on when the first is killed."""
    within: ClassVar[Sequence[str]]
    """The command that runs its program, with its arguments; empty where it needs none."""

    @property
    def redirect(self) -> Redirect | None:
        """`None`: which server takes the clients can't be changed while it runs."""

    def check(self, settings: Mapping[str, str]) -> None:
        """Raises `ValueError` for settings that dbdyno sets itself."""

    def write(self, post: Post) -> None:
        """Writes its configuration into its folder."""

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """Arguments of the program."""

    def socket(self, post: Post) -> Path:
        """A Unix socket that accepts connections when it is ready."""

    def metrics(self, post: Post) -> str | None:
        """The path of a socket at which it serves its statistics; `None`: none are read."""

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """Clients of one process, at most."""

    def server_connections(self, settings: Mapping[str, str]) -> int | None:
        """Server connections of one process, at most; `None`: one per client."""

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """Whether prepared statements work through it."""


def read_wish(asked: Mapping[str, Any]) -> Wish:
    """What a study file says; its shape was checked there."""
    return Wish(
        kind=asked["kind"],
        processes=asked.get("processes", 1),
        version=asked.get("version"),
        settings=asked.get("settings", {}),
    )


def open_files() -> int:
    """Of one process, at most."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**20 if hard == resource.RLIM_INFINITY else hard


def refuse_reserved(settings: Mapping[str, str], reserved: frozenset[str]) -> None:
    """Raises `ValueError` for the first setting that dbdyno sets itself."""
    if taken := sorted(reserved.intersection(settings)):
        raise ValueError(f"`{taken[0]}` is set by dbdyno itself")


def whole(settings: Mapping[str, str], name: str, default: int) -> int:
    """A setting that is a number. Raises `UsageError` for another."""
    value = settings.get(name, str(default))
    if not value.isdecimal():
        raise UsageError(f"proxy: `{name}`: expected a whole number; found `{value}`")
    return int(value)
