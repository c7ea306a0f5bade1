"""What programs print of themselves (`--version`), kept in the cache from one command to the next.

Listing servers asks a dozen programs, which takes longer than all the rest. Only binaries are kept:
a script may print what some other file says.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dbdyno.cache import cache_folder

_ELF = b"\x7fELF"
_LONGEST = 10_000
"""Characters of a text that is kept."""

State = tuple[int, int]
"""When a file was last changed, in nanoseconds, and its size."""


def find(program: Path, arguments: Sequence[str], state: State) -> str | None:
    """What a program has printed; `None` if that is not known of the file as it is now."""
    entry = _entries(cache_folder()).get(_key(program, arguments))
    if isinstance(entry, list) and entry[:2] == list(state) and isinstance(entry[-1], str):
        return entry[-1]
    return None


def keep(program: Path, arguments: Sequence[str], state: State, text: str) -> None:
    """Keeps what a program has printed; a cache that can't be written only costs time."""
    with contextlib.suppress(OSError):
        with program.open("rb") as file:
            is_binary = file.read(len(_ELF)) == _ELF
        if not is_binary or len(text) > _LONGEST:
            return
        folder = cache_folder()
        _entries.cache_clear()
        entries = {**_entries(folder), _key(program, arguments): [*state, text]}
        folder.mkdir(parents=True, exist_ok=True)
        number, aside = tempfile.mkstemp(dir=folder)
        with os.fdopen(number, "w") as file_aside:
            json.dump(entries, file_aside)
        Path(aside).chmod(0o644)
        Path(aside).replace(_file(folder))
        _entries.cache_clear()


def _file(folder: Path) -> Path:
    return folder / "printed.json"


def _key(program: Path, arguments: Sequence[str]) -> str:
    return "\0".join((str(program), *arguments))


@cache
def _entries(folder: Path) -> Mapping[str, object]:
    """All that is kept; what is damaged counts as nothing."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        kept = json.loads(_file(folder).read_bytes())
        if isinstance(kept, dict):
            return kept
    return {}
