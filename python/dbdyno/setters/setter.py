"""The interface of setters, and helpers that they share.

A setter is a file beside this one with a constant `SETTER`. It is asked what is missing before
anything begins, and applied before the server starts. It undoes nothing itself: it registers the
undo with the guard before each change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from dbdyno.guard.account import Account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.guard.undo import system_environment
from dbdyno.model.part import Missing

Facts = Mapping[str, object]
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Scene:
    """What a setter may know about the run."""

    scratch: Path
    """A folder for large files."""
    account: Account | None
    """The user who runs the server; `None`: ourselves."""
    members: Sequence[str] = ()
    """Names of the servers of the run's topology; none for a single server."""


def _nothing(_: Sequence[int]) -> Facts:
    return {}


@dataclass(frozen=True, slots=True)
class Applied:
    """The changes of a setter."""

    before: Facts = field(default_factory=dict)
    """The state before, by stable names."""
    after: Facts = field(default_factory=dict)
    """The state now; the same names."""
    server: Launch = ORDINARY
    """How the server is started."""
    client: Launch = ORDINARY
    """How load generators are started."""
    members: Mapping[str, Launch] = field(default_factory=dict)
    """How members of a topology are started in addition, by their names."""
    before_step: Callable[[], None] | None = None
    """Called before each step; only for setters of the whole host, since several runs that are up
    together share the call."""
    witness: Callable[[Sequence[int]], Facts] = _nothing
    """What the server's processes (pids) actually got; read after the load."""


class Setter(Protocol):
    """One key of `[host]`. The value returned by `read` is passed to the other methods."""

    name: ClassVar[str]

    def read(self, value: object) -> Any:
        """Checks the study's value. Raises `ValueError`: what was expected and found."""

    def missing(self, value: Any) -> tuple[Missing, ...]:
        """What this machine lacks for it, each with its remedy; empty if it can be applied."""

    def apply(self, value: Any, guarded: Guarded, scene: Scene) -> Applied:
        """Makes the change, after registering its undo.

        # Errors
        `MachineError` if the machine refuses.
        """


def table(value: object, *keys: str, instead: str = "") -> Mapping[str, Any]:
    """Checks for a table with some of these keys. Raises `ValueError` for anything else; its
    message also names what the caller accepts `instead` of a table."""
    expected = f"expected a table with some of {', '.join(f'`{key}`' for key in keys)}"
    if instead:
        expected += f", or {instead}"
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{expected}; found {value!r}")
    if unknown := [key for key in value if key not in keys]:
        raise ValueError(f"{expected}; found `{unknown[0]}`")
    return value


def one_of(value: object, *words: str) -> str:
    """Checks for one of these words. Raises `ValueError` for anything else."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(
            f"expected one of {', '.join(f'`{word}`' for word in words)}; found {value!r}"
        )
    return value


def whole_number(value: object, low: int, high: int) -> int:
    """Checks for an integer from `low` to `high`. Raises `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"expected a whole number from {low} to {high}; found {value!r}")
    return value


def is_needed(asked: Mapping[str, Any]) -> bool:
    """The key `needed` of a table, true unless said: without the setting the cell can't run; else
    it runs as the machine is, which its facts tell. Raises `ValueError` for anything else."""
    needed = asked.get("needed", True)
    if not isinstance(needed, bool):
        raise ValueError(f"expected `needed` to be true or false; found {needed!r}")
    return needed


def of_processes(pids: Sequence[int], read: Callable[[int], Read]) -> set[Read]:
    """What is read of each process; those that have ended are left out."""
    reads: set[Read] = set()
    for pid in pids:
        with suppress(ProcessLookupError):
            reads.add(read(pid))
    return reads


def nice_of(pid: int) -> int:
    """A process's nice value; of 0, ours."""
    return os.getpriority(os.PRIO_PROCESS, pid)


def texts(value: object) -> tuple[str, ...]:
    """Checks for a list of strings. Raises `ValueError` for anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"expected a list of texts; found {value!r}")
    return tuple(value)


def without_root(what: str) -> tuple[Missing, ...]:
    """Missing unless we are root."""
    if os.geteuid() == 0:
        return ()
    return (Missing(f"only root may {what}", "run dbdyno as root"),)


def without_programs(packages: Mapping[str, str]) -> tuple[Missing, ...]:
    """The missing programs; `packages` maps each to its Debian package."""
    return tuple(
        Missing(f"there is no program `{name}`", f"`apt-get install {package}`")
        for name, package in packages.items()
        if find_program(name) is None
    )


def find_program(name: str) -> str | None:
    """Path of a program as the guard would find it; `None` if there is none."""
    return shutil.which(name, path=system_environment()["PATH"])


def without_switch(*paths: Path) -> tuple[Missing, ...]:
    """The switches that this kernel lacks or does not let us write."""
    return tuple(
        Missing(f"{path} does not exist", "use a kernel that has this switch")
        if not path.exists()
        else Missing(f"{path} can't be written", "run dbdyno as root, outside of a container")
        for path in paths
        if not os.access(path, os.W_OK)
    )
