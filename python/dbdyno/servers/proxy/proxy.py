"""What every kind of proxy looks like: a configuration written, a program called.

A kind is a module beside this one with its `PROXY`. It is a tool (`tool:pgbouncer`), started in as
many processes as a study asks for, each with a port of its own.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dbdyno.errors import UsageError

MOST_PROCESSES = 1000
OWN_FILES = 200
"""Of a process of a proxy, beside its clients' sockets."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a study says of the proxy before a server."""

    kind: str
    processes: int = 1
    version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """The proxy's own."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The server behind a proxy."""

    socket: Path
    host: str
    port: int
    role: str
    password: str
    database: str

    @classmethod
    def of(cls, unix: Mapping[str, Any], tcp: Mapping[str, Any]) -> Behind:
        """By its targets."""
        place = tcp["endpoints"][0]["tcp"]
        return cls(
            socket=Path(unix["endpoints"][0]["unix"]),
            host=place["host"],
            port=place["port"],
            role=tcp["user"],
            password=tcp["password"],
            database=tcp["database"],
        )


@dataclass(frozen=True, slots=True)
class Post:
    """One process of a proxy: where it stands, and before what."""

    server: Behind
    address: str
    port: int
    folder: Path
    """Its own, where it may write; a socket in it must be short."""
    settings: Mapping[str, str]


class Proxy(Protocol):
    """A kind of proxy."""

    name: ClassVar[str]
    kinds: ClassVar[Sequence[str]]
    """Servers it can stand before."""
    reads: ClassVar[bool]
    """Whether it takes part in the protocol: what clients agree on is then with the proxy."""

    def check(self, settings: Mapping[str, str]) -> None:
        """Raises `ValueError` for settings by which we reach and watch it."""

    def write(self, post: Post) -> None:
        """Its configuration, into its folder."""

    def arguments(self, folder: Path) -> Sequence[str | Path]:
        """What follows the program's name."""

    def socket(self, post: Post) -> Path:
        """A Unix socket that takes connections when it is ready."""

    def most_clients(self, settings: Mapping[str, str]) -> int:
        """Of one process."""

    def server_connections(self, settings: Mapping[str, str]) -> int | None:
        """Those of one process with the server, at most; `None`: one for each client."""

    def keeps_statements(self, settings: Mapping[str, str]) -> bool:
        """Whether prepared statements find what was prepared."""


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
    """Raises `ValueError` for the first that a proxy keeps to itself."""
    if taken := sorted(reserved.intersection(settings)):
        raise ValueError(f"`{taken[0]}` is set by dbdyno itself")


def whole(settings: Mapping[str, str], name: str, default: int) -> int:
    """A setting that is a number. Raises `UsageError` for another."""
    told = settings.get(name, str(default))
    if not told.isdecimal():
        raise UsageError(f"proxy: `{name}`: expected a whole number; found `{told}`")
    return int(told)
