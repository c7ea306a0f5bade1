"""The proxies before servers, as what can fail."""

from __future__ import annotations

from typing import Protocol


class Front(Protocol):
    """What stands before servers and can be killed. Methods raise `ServerError`."""

    def kill(self) -> None:
        """Ends all proxies by SIGKILL."""

    def restart(self, limit_s: float) -> None:
        """Starts them on their ports, before the server that takes writes now; also raises if one
        takes no connections within `limit_s`."""
