"""A process started the way a server is, that says how it was started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch


def told_by(guarded: Guarded, launch: Launch, argv: Sequence[str], folder: Path) -> str:
    """What a command prints that is launched like a server."""
    output = folder / "told"
    output.unlink(missing_ok=True)
    pid = guarded.spawn(argv, output=output, cwd=folder, env=os.environ, launch=launch)
    assert guarded.wait(pid, 30) == 0, output.read_text()
    return output.read_text()
