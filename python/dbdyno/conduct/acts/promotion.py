"""A primary ends, and a replica takes its place; later it comes back as a replica."""

from __future__ import annotations

import time
from dataclasses import dataclass

from dbdyno.conduct.acts.act import LIMIT_S, Begun, Scene, not_back
from dbdyno.errors import ServerError
from dbdyno.servers.protocol import Promotion


@dataclass(frozen=True, slots=True)
class Promote:
    """The primary is killed (`planned`: stopped in order, so that its replicas get all it has)."""

    scene: Scene
    planned: bool = False

    def begin(self) -> Begun:
        """Returns once the promoted member takes writes and clients."""
        at_ns = time.monotonic_ns()
        if self.planned:
            self._promotion.end(LIMIT_S)
        else:
            self.scene.member.server.node.kill()
        promoted = self._promotion.promote(LIMIT_S)
        return Begun(at_ns, promoted.name, time.monotonic_ns())

    def end(self) -> None:
        """Starts the former primary with the data of the present one."""
        try:
            self._promotion.rejoin(self.scene.member, LIMIT_S)
        except ServerError as error:
            raise not_back(self.scene.member, error) from error

    @property
    def _promotion(self) -> Promotion:
        promotion = self.scene.server.members.promotion
        assert promotion is not None, "refused before anything is started"
        return promotion
