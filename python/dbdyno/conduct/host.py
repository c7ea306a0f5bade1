"""The state of the host that a batch of runs asks for: its setters, applied in order and undone in
reverse, with what was so before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbdyno.design.cells import cells
from dbdyno.errors import UsageError
from dbdyno.formats.study import KeyPath, StudyFile, level_path
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.model import Missing, Study
from dbdyno.servers.place import data_parent
from dbdyno.setters.outfit import UNCHANGED, Outfit, apply_all, missing_of_host
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Scene

__all__ = ["UNCHANGED", "Host", "apply_host", "check_host", "missing_of", "missing_of_study"]


Host = Outfit
"""This machine as a batch of runs finds it."""


@contextmanager
def apply_host(wishes: Mapping[str, object], folder: Path) -> Iterator[Host]:
    """Applies what a cell asks of the host, and takes it back when the block ends, or we die.

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
