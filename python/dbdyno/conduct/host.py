"""Host settings of runs: setters applied in order and undone in reverse, recording the state
before and after. Settings that affect the whole host are applied per batch, the others per run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dbdyno.errors import UsageError
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.study import StudyFile
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.model import OWN_HOST_PARTS, Missing, Study
from dbdyno.servers.nodes.place import data_parent
from dbdyno.setters.limits import CLIENT, LIMITS
from dbdyno.setters.outfit import UNCHANGED, Outfit, apply_all, missing_of_host
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Scene

__all__ = [
    "UNCHANGED",
    "Host",
    "apply_host",
    "apply_host_of_members",
    "check_host",
    "check_own",
    "is_of_clients",
    "missing_of",
    "own_part",
    "shared_part",
]


Host = Outfit
"""This machine as configured for a run."""


def shared_part(wishes: Mapping[str, object]) -> Mapping[str, object]:
    """The settings of a cell that affect every process of the host."""
    return {name: value for name, value in wishes.items() if name not in OWN_HOST_PARTS}


def own_part(wishes: Mapping[str, object]) -> Mapping[str, object]:
    """The settings of a cell that affect only its own server and clients."""
    return {name: value for name, value in wishes.items() if name in OWN_HOST_PARTS}


@contextmanager
def apply_host(
    wishes: Mapping[str, object], folder: Path, members: Sequence[str] = ()
) -> Iterator[Host]:
    """Applies a cell's settings to the host, and undoes them when the block ends or this process
    dies.

    `folder` is for large files, `members` are the servers of the cell's topology. Raises
    `MachineError` naming everything missing.
    """
    if not wishes:
        yield UNCHANGED
        return
    account = server_account()
    scene = Scene(data_parent(folder, account), account, members)
    with Guarded() as guarded:
        yield apply_all(wishes, guarded, scene)


@contextmanager
def apply_host_of_members(
    wishes: Mapping[str, Mapping[str, object]], folder: Path
) -> Iterator[Host]:
    """The same for members of a topology, by their names, each under a guard of its own."""
    account = server_account()
    with ExitStack() as stack:
        members: dict[str, Host] = {}
        for name, wish in wishes.items():
            scene = Scene(scratch=data_parent(folder, account), account=account)
            members[name] = apply_all(wish, stack.enter_context(Guarded()), scene)
        yield Host(members=members)


def missing_of(wishes: Mapping[str, object]) -> tuple[Missing, ...]:
    """What this machine lacks for some settings, which must be valid."""
    return tuple(lack for missing in missing_of_host(wishes).values() for lack in missing)


def check_host(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the file's line, for an unknown setter or a value it refuses."""
    for path, wishes in _tables(loaded.study):
        for name, wish in wishes.items():
            try:
                find_setter(name).read(wish)
            except UsageError as error:
                raise loaded.error((*path, name), error.message, hint=error.hint) from error
            except ValueError as error:
                raise loaded.error((*path, name), f"`host.{name}`: {error}") from error


def check_own(name: str, wish: object) -> None:
    """Checks what a member of a topology, or proxies, have for themselves. Raises `ValueError`:
    what was expected and found."""
    find_setter(name).read(wish)
    if name == LIMITS and isinstance(wish, Mapping) and CLIENT in wish:
        raise ValueError(
            f"`{CLIENT}` has the limits of all clients, and belongs in `host` of the cell"
        )


def is_of_clients(name: str, wish: object) -> bool:
    """Whether a part of the host says something of the clients alone."""
    return name == LIMITS and isinstance(wish, Mapping) and [*wish] == [CLIENT]


def _tables(study: Study) -> Iterator[tuple[KeyPath, Mapping[str, object]]]:
    yield ("host",), study.host
    for factor in study.factors:
        for level in factor.levels:
            yield (*level_path(factor.name, level.name), "host"), level.host
