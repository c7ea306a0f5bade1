"""The state of the host that runs ask for: setters applied in order and undone in reverse, with
what was so before and after. What every process sees is applied for a batch, the rest for a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbdyno.design.cells import cells
from dbdyno.errors import UsageError
from dbdyno.formats.complaint import KeyPath
from dbdyno.formats.study import StudyFile, level_path
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.model import OWN_HOST_PARTS, Missing, Study
from dbdyno.servers.place import data_parent
from dbdyno.setters.outfit import UNCHANGED, Outfit, apply_all, missing_of_host
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Scene

__all__ = [
    "UNCHANGED",
    "Host",
    "apply_host",
    "check_host",
    "missing_of",
    "missing_of_study",
    "own_part",
    "shared_part",
]


Host = Outfit
"""This machine as a run finds it."""


def shared_part(wishes: Mapping[str, object]) -> Mapping[str, object]:
    """What of a cell's wishes every process of the host sees."""
    return {name: value for name, value in wishes.items() if name not in OWN_HOST_PARTS}


def own_part(wishes: Mapping[str, object]) -> Mapping[str, object]:
    """What of a cell's wishes only its own server and clients get."""
    return {name: value for name, value in wishes.items() if name in OWN_HOST_PARTS}


@contextmanager
def apply_host(wishes: Mapping[str, object], folder: Path) -> Iterator[Host]:
    """Applies wishes of a cell to the host, and takes them back when the block ends, or we die.

    `folder` is where large things may be put. Raises `MachineError` naming all that is missing.
    """
    if not wishes:
        yield UNCHANGED
        return
    account = server_account()
    scene = Scene(scratch=data_parent(folder, account), account=account)
    with Guarded() as guarded:
        yield apply_all(wishes, guarded, scene)


def missing_of(wishes: Mapping[str, object]) -> tuple[Missing, ...]:
    """What this machine lacks for some wishes; each must have been read without a complaint."""
    return tuple(each for missing in missing_of_host(wishes).values() for each in missing)


def missing_of_study(study: Study) -> tuple[Missing, ...]:
    """What this machine lacks for the cells of a study, each thing once."""
    every = (each for cell in cells(study) for each in missing_of(cell.host))
    return tuple(dict.fromkeys(every))


def check_host(loaded: StudyFile) -> None:
    """Raises `StudyError` with the line of a setter that there isn't, or of a value it refuses."""
    for path, wishes in _tables(loaded.study):
        for name, wish in wishes.items():
            try:
                find_setter(name).read(wish)
            except UsageError as error:
                raise loaded.error((*path, name), error.message, hint=error.hint) from error
            except ValueError as error:
                raise loaded.error((*path, name), f"`host.{name}`: {error}") from error


def _tables(study: Study) -> Iterator[tuple[KeyPath, Mapping[str, object]]]:
    yield ("host",), study.host
    for factor in study.factors:
        for level in factor.levels:
            yield (*level_path(factor.name, level.name), "host"), level.host
