"""The file system of a member's data has no space left, until the file that fills it is removed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.conduct.acts.act import Begun, Scene, come_back
from dbdyno.errors import MachineError, ServerError
from dbdyno.guard import undo
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.held import Held

_FILLER = "dbdyno-filler"
_PIECE_BYTES = 64 << 20
_BLOCK_BYTES = 4096


@dataclass(slots=True)
class FillDisk:
    """By a file beside the data folder, which the guard removes if nobody else does."""

    scene: Scene
    _guarded: Guarded = field(default_factory=Guarded)
    _held: Held | None = None

    def begin(self) -> Begun:
        """Returns once the server's account can't allocate another block."""
        data = self.scene.member.server.node.data_folder()
        assert data is not None, "a server of ours has a folder"
        filler = data.parent / _FILLER
        try:
            self._held = self._guarded.hold(undo.remove_file(filler))
            _fill(filler)
        except (MachineError, OSError) as error:
            self._guarded.close()
            raise ServerError(f"the file system of {data} can't be filled: {error}") from error
        return Begun()

    def end(self) -> None:
        """Removes the file. A server that has ended without space is started again."""
        assert self._held is not None, "begun"
        try:
            self._held.undo()
        except MachineError as error:
            raise ServerError(error.message, hint=error.hint) from error
        finally:
            self._guarded.close()
        come_back(self.scene.member)


def _fill(filler: Path) -> None:
    """What the kernel keeps for root stays free: servers run as another user."""
    with filler.open("wb") as file:
        size_bytes = 0
        while (left_bytes := _left_bytes(filler)) >= _BLOCK_BYTES:
            piece_bytes = min(left_bytes, _PIECE_BYTES)
            os.posix_fallocate(file.fileno(), size_bytes, piece_bytes)
            size_bytes += piece_bytes


def _left_bytes(path: Path) -> int:
    space = os.statvfs(path)
    return space.f_bavail * space.f_frsize
