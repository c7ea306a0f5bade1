"""A server that clients reach with nothing between: what that means, whatever its kind."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from dbdyno.servers.protocol import Transport


class Direct(ABC):
    """See `proxy/proxied.py` for the other kind."""

    @abstractmethod
    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Where the engine connects."""

    def load_target(self) -> Mapping[str, object]:
        """The same."""
        return self.target()

    def proxies(self) -> Sequence[int]:
        """None."""
        return ()
