"""A command of the study's own, and the one that undoes it, which the guard has before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.conduct.acts.act import Begun, Scene, come_back, port_of
from dbdyno.errors import MachineError, ServerError
from dbdyno.guard import undo
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.held import Held


@dataclass(slots=True)
class Command:
    """`{name}`, `{pid}`, `{port}` and `{data}` in its words are the member's."""

    scene: Scene
    _guarded: Guarded = field(default_factory=Guarded)
    _held: Held | None = None

    def begin(self) -> Begun:
        """Runs it to its end. Where it fails, what it did so far is undone."""
        fault = self.scene.fault
        apply, undoing = self._words(fault.apply), self._words(fault.undo)
        try:
            self._held = self._guarded.hold(undo.run(undoing))
            begun = Begun()
            self._guarded.run(apply)
        except MachineError as error:
            self._guarded.close()
            raise ServerError(f"a fault's command: {error.message}", hint=error.hint) from error
        return begun

    def end(self) -> None:
        """Undoes it, and waits until the member takes statements; starts it if it has ended."""
        assert self._held is not None, "begun"
        try:
            self._held.undo()
        except MachineError as error:
            raise ServerError(f"a fault's `undo`: {error.message}", hint=error.hint) from error
        finally:
            self._guarded.close()
        come_back(self.scene.member)

    def _words(self, words: Sequence[str]) -> list[str]:
        member = self.scene.member
        node = member.server.node
        values = {
            "{name}": member.name,
            "{pid}": str(next(iter(node.processes()), "")),
            "{port}": str(port_of(member)),
            "{data}": str(node.data_folder()),
        }
        replaced = list(words)
        for name, value in values.items():
            replaced = [word.replace(name, value) for word in replaced]
        return replaced
