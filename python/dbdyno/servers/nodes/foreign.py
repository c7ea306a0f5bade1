"""The node of a server that somebody else runs: nothing of its process is known, nor done to it."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.nodes.direct import Direct


class ForeignNode(Direct):
    """What an existing server, reached by its URL, has in place of a process of ours."""

    def __init__(self, example: str) -> None:
        self._example = example
        """A provision text for a server of ours."""

    def alive(self) -> bool:
        """Always, as far as we know: how long a load waits for a server that has gone is decided
        by its `reconnect_for`, and the engine says when that is over."""
        return True

    def ended_with(self) -> int | None:
        """`None`: the process is somebody else's."""
        return None

    def data_folder(self) -> Path | None:
        """`None`: unknown to us."""
        return None

    def processes(self) -> Sequence[int]:
        """None: its processes aren't ours, and may be on another machine."""
        return ()

    def log_files(self) -> Sequence[Path]:
        """None that we can read."""
        return ()

    def kill(self) -> None:
        """Refused: the server is somebody else's."""
        raise ServerError(
            "a server reached by its URL is not ours to kill",
            hint=f"let dbdyno start one (`{self._example}`) to see it crash",
        )

    def drop(self) -> None:
        """Refused: the server is somebody else's."""
        self.kill()

    def restart(self, limit_s: float) -> None:
        """Refused: the server is somebody else's."""
        raise self._not_ours("to start")

    def _not_ours(self, what: str) -> ServerError:
        return ServerError(
            f"a server reached by its URL is not ours {what}",
            hint=f"let dbdyno start one (`{self._example}`)",
        )
