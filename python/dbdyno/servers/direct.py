"""Servers that clients connect to directly, without a proxy."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from dbdyno.servers.protocol import Transport


class Direct(ABC):
    """See `proxy/proxied.py` for servers behind a proxy."""

    @abstractmethod
    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Where the engine connects."""

    def load_target(self) -> Mapping[str, object]:
        """The server itself: no proxy stands before it."""
        return self.target()

    def proxies(self) -> Sequence[int]:
        """None stand before the server."""
        return ()
