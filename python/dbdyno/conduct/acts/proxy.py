"""The proxies before the servers are killed, and started again on their ports."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.acts.act import LIMIT_S, Begun, Scene
from dbdyno.servers.front import Front


@dataclass(frozen=True, slots=True)
class KillProxy:
    """By SIGKILL; whatever the fault's `member` is."""

    scene: Scene

    def begin(self) -> Begun:
        """Returns when their processes have ended."""
        begun = Begun()
        self._front.kill()
        return begun

    def end(self) -> None:
        """Starts them; returns once they take connections."""
        self._front.restart(LIMIT_S)

    @property
    def _front(self) -> Front:
        front = self.scene.server.members.front
        assert front is not None, "refused before anything is started"
        return front
