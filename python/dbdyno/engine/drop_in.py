"""sysbench's command line for the engine: scripts that no sysbench has installed are the bundled
ones.

Imports nothing slow: for short runs that would take longer than the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_PLACES = (".", "/usr/share/sysbench", "/usr/local/share/sysbench")
"""Where the engine looks for a script, as sysbench does."""
_BUNDLED = Path(__file__).resolve().parents[1] / "workloads"


def with_bundled(arguments: Sequence[str]) -> list[str]:
    """The arguments, the name of a script that is nowhere else replaced by the bundled file."""
    changed = list(arguments)
    for place, argument in enumerate(changed):
        if not argument.startswith("-"):
            changed[place] = _script(argument)
            break
    return changed


def _script(name: str) -> str:
    if "/" in name or any(_in(Path(folder), name) for folder in _PLACES):
        return name
    return str(_in(_BUNDLED, name) or name)


def _in(folder: Path, name: str) -> Path | None:
    """The script's file in a folder, named with or without its suffix."""
    for file in (folder / f"{name}.lua", folder / name):
        if file.is_file():
            return file
    return None
