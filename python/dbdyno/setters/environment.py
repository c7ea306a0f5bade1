"""Environment variables of the server's process: its allocator, the runtime of its language."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Facts, Scene

_PRELOAD = "LD_PRELOAD"
_RESERVED = frozenset({"HOME", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ"})
"""Those that dbdyno itself sets for servers."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Environment:
    """A table of variables: texts, or whole numbers."""

    name: ClassVar[str] = "environment"

    def read(self, value: object) -> Launch:
        """The variables for launching the server."""
        if not isinstance(value, Mapping) or not value:
            raise ValueError(f"expected a table of variables; found {value!r}")
        return Launch(environment=tuple(_variable(name, value[name]) for name in sorted(value)))

    def missing(self, value: Launch) -> tuple[Missing, ...]:
        """Libraries to be preloaded that are not there: the loader would go on without them."""
        return tuple(
            Missing(f"there is no library {library}", "name its file by its whole path")
            for library in _preloaded(dict(value.environment))
            if not Path(library).is_file()
        )

    def apply(self, value: Launch, _: Guarded, __: Scene) -> Applied:
        """Nothing to undo: the variables end with the processes."""
        asked = dict(value.environment)
        before = {name: os.environ.get(name) for name in asked}
        return Applied(before, asked, server=value, witness=lambda pids: _got(asked, pids))


def _variable(name: object, value: object) -> tuple[str, str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"expected names of letters, digits and `_`; found {name!r}")
    if name in _RESERVED:
        raise ValueError(f"`{name}` is set by dbdyno itself; expected another variable")
    if isinstance(value, bool) or not isinstance(value, str | int) or "\0" in str(value):
        raise ValueError(f"`{name}`: expected a text or a whole number; found {value!r}")
    return name, str(value)


def _preloaded(variables: Mapping[str, str]) -> Sequence[str]:
    return [word for word in re.split(r"[ :]", variables.get(_PRELOAD, "")) if word]


def _got(asked: Mapping[str, str], pids: Sequence[int]) -> Facts:
    """The variables that every process was started with, and of what is preloaded only what every
    process has mapped: the loader ignores a library that does not fit."""
    got: dict[str, str] = dict(asked)
    for pid in pids:
        with suppress(ProcessLookupError, FileNotFoundError):
            started = _environment_of(pid)
            mapped = Path(f"/proc/{pid}/maps").read_text(errors="replace")
            libraries = [name for name in _preloaded(got) if _real(name) in mapped]
            got = {name: text for name, text in got.items() if started.get(name) == asked[name]}
            if _PRELOAD in got:
                got[_PRELOAD] = ":".join(libraries)
    return got


def _environment_of(pid: int) -> Mapping[str, str]:
    texts = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _real(library: str) -> str:
    return str(Path(library).resolve())


SETTER = Environment()
