"""The power of the file system of a member's data fails: what it had not synced is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.conduct.acts.act import Begun, Scene, start_again
from dbdyno.errors import MachineError, ServerError, UsageError
from dbdyno.generators.power import OwnFileSystem
from dbdyno.guard.guarded import Guarded


@dataclass(slots=True)
class PowerFailure:
    """The server is killed with it. Its undo is the one that the file system has anyway."""

    scene: Scene
    _guarded: Guarded = field(default_factory=Guarded)
    _system: OwnFileSystem | None = None

    def begin(self) -> Begun:
        """Returns when its process has ended."""
        node = self.scene.member.server.node
        try:
            self._system = OwnFileSystem.of(node.data_folder() or Path("/"))
            begun = Begun(self._system.fail())
        except (MachineError, UsageError) as error:
            raise ServerError(error.message, hint=error.hint) from error
        finally:
            node.kill()
        return begun

    def end(self) -> None:
        """Mounts the file system again, and starts the member."""
        assert self._system is not None, "begun"
        try:
            self._system.mount_again(self._guarded)
        except MachineError as error:
            raise ServerError(error.message, hint=error.hint) from error
        finally:
            self._guarded.close()
        start_again(self.scene.member)
