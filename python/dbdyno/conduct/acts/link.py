"""The link between a member and everything else is cut, both ways or one, or slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.conduct.acts.act import Begun, Scene, come_back
from dbdyno.errors import MachineError, ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.setters.links import ends_of
from dbdyno.setters.network import tbf

_NOTHING = ("pfifo", "limit", "0")
"""A queue that drops every packet: its sender is not told, as with a cable that was pulled."""


@dataclass(slots=True)
class _Limited:
    """What the ends of a link may send. It goes with the link's namespaces, whatever ends."""

    scene: Scene
    _guarded: Guarded = field(default_factory=Guarded)
    _changed: list[tuple[str, str]] = field(default_factory=list)

    def begin(self) -> Begun:
        """Returns when it is in force."""
        fault = self.scene.fault
        ends = ends_of(self.scene.member.server.node.launched)
        assert ends is not None, "refused before anything is started"
        if fault.direction in ("both", "in"):
            self._changed.append(ends.hub)
        if fault.direction in ("both", "out"):
            self._changed.append(ends.server)
        begun = Begun()
        self._set("replace", self._queue())
        return begun

    def end(self) -> None:
        """Takes it back; returns when the member takes statements. Connections go on once TCP sends
        again what was lost."""
        try:
            self._set("del", ())
        finally:
            self._guarded.close()
        come_back(self.scene.member)

    def _queue(self) -> Sequence[str]:
        return _NOTHING

    def _set(self, verb: str, queue: Sequence[str]) -> None:
        for network, device in self._changed:
            inside = ["nsenter", f"--net={network}", "tc", "qdisc", verb, "dev", device, "root"]
            try:
                self._guarded.run([*inside, *queue])
            except MachineError as error:
                name = self.scene.member.name
                raise ServerError(f"{name}: {error.message}", hint=error.hint) from error


@dataclass(slots=True)
class Partition(_Limited):
    """Nothing arrives (`in`), nothing leaves (`out`), or neither."""


@dataclass(slots=True)
class SlowNetwork(_Limited):
    """By the kernel's token bucket, both ways."""

    def _queue(self) -> Sequence[str]:
        rate = self.scene.fault.rate_bit_s
        assert rate is not None, "refused when the study was read"
        return tbf(rate)
