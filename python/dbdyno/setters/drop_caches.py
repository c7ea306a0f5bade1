"""Empties the page cache when the run starts, or before each step. There is nothing to undo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import MachineError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import write_text
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Scene, one_of, without_switch

_SWITCH = Path("/proc/sys/vm/drop_caches")
_ALL = "3"
"""Drops pages and the kernel's caches of folders and inodes."""


class DropCaches:
    """`"start"` or `"steps"`."""

    name: ClassVar[str] = "drop_caches"

    def read(self, value: object) -> str:
        """When the page cache is dropped."""
        return one_of(value, "start", "steps")

    def missing(self, _: str) -> tuple[Missing, ...]:
        """Root, or the kernel's switch."""
        return without_switch(_SWITCH)

    def apply(self, value: str, _: Guarded, __: Scene) -> Applied:
        """Empties it now, or before each step."""
        if value == "steps":
            return Applied(after={"when": value}, before_step=drop_caches)
        drop_caches()
        return Applied(after={"when": value})


def drop_caches() -> None:
    """Writes dirty pages, then drops clean ones.

    # Errors
    `MachineError` if the kernel refuses.
    """
    os.sync()
    try:
        write_text(_SWITCH, _ALL)
    except OSError as error:
        raise MachineError(
            f"the page cache can't be emptied: {error.strerror}", hint="run dbdyno as root"
        ) from error


SETTER = DropCaches()
