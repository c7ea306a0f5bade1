"""Servers that clients connect to directly, without a proxy: node, database and entry in one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from dbdyno.errors import ServerError
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.servers.protocol import Members, Transport


class Direct(ABC):
    """See `topologies/behind_proxy.py` for servers behind a proxy."""

    launched: Launch = ORDINARY
    """How its process is started, if it is one of ours."""

    @property
    def node(self) -> Self:
        """The server: it runs its database itself."""
        return self

    @property
    def database(self) -> Self:
        """The server: it answers for its tables."""
        return self

    @property
    def entry(self) -> Self:
        """The server: clients connect to it."""
        return self

    def pause(self) -> None:
        """Raises: only a process of ours can be paused."""
        raise ServerError("a server that is no process of the lab's can't be paused")

    def resume(self) -> None:
        """Raises, as `pause` does."""
        raise ServerError("a server that is no process of the lab's was not paused")

    @property
    def members(self) -> Members:
        """None: it is a single server."""
        return Members()

    @abstractmethod
    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Where the engine connects."""

    def fill_target(self) -> Mapping[str, object]:
        """The server itself: no proxy stands before it."""
        return self.target()

    def proxies(self) -> Sequence[int]:
        """None stand before the server."""
        return ()
