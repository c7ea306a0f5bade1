"""What watches the servers of a topology, and chooses another primary when that has died."""

from __future__ import annotations

from typing import Protocol


class Supervisor(Protocol):
    """Of the servers of one topology, which it knows by their names. Methods raise `ServerError`
    where a server does not run."""

    def health_check(self, member: str) -> tuple[int, str]:
        """TCP port and path where HTTP answers 200 while the member is the primary."""

    def kill_server(self, member: str) -> None:
        """Kills the database server alone by SIGKILL, which is then started again without being
        asked to."""
