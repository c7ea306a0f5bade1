"""The state of the host that a batch of runs asks for: its setters, applied in order and undone in
reverse, with what was so before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.design.cells import cells
from dbdyno.errors import MachineError, UsageError
from dbdyno.formats.study import KeyPath, StudyFile
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model import Missing, Study
from dbdyno.servers.place import data_parent
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Applied, Scene


@dataclass(frozen=True, slots=True)
class Host:
    """This machine as a batch of runs finds it."""

    applied: Mapping[str, Applied] = field(default_factory=dict)
    """By setter, in the order in which they were applied."""

    @property
    def server(self) -> Launch:
        """How servers are started."""
        return _joined(each.server for each in self.applied.values())

    @property
    def client(self) -> Launch:
        """How the programs that put load on are started."""
        return _joined(each.client for each in self.applied.values())

    def before_step(self) -> None:
        """What setters do before each step."""
        for each in self.applied.values():
            if each.before_step is not None:
                each.before_step()

    def facts(self, pids: Sequence[int]) -> Mapping[str, object]:
        """Setter → what was so before and after, and what these processes got of it."""
        return {
            name: {
                "before": dict(each.before),
                "after": dict(each.after),
                "got": dict(each.witness(pids)),
            }
            for name, each in self.applied.items()
        }


UNCHANGED = Host()
"""As it is."""


def _joined(launches: Iterator[Launch]) -> Launch:
    joined = ORDINARY
    for launch in launches:
        joined = joined.joined(launch)
    return joined


@contextmanager
def apply_host(wishes: Mapping[str, object], folder: Path) -> Iterator[Host]:
    """Applies what a cell asks of the host, and takes it back when the block ends, or we die.

    `folder` is where large things may be put. Raises `MachineError` naming all that is missing.
    """
    if not wishes:
        yield UNCHANGED
        return
    require_host(wishes)
    account = server_account()
    scene = Scene(scratch=data_parent(folder, account), account=account)
    applied: dict[str, Applied] = {}
    with Guarded() as guarded:
        for name, wish in wishes.items():
            setter = find_setter(name)
            applied[name] = setter.apply(setter.read(wish), guarded, scene)
        yield Host(applied)


def require_host(wishes: Mapping[str, object]) -> None:
    """Raises `MachineError` when this machine can't have what is asked of it."""
    found = missing_of(wishes)
    if found:
        raise MachineError(
            f"this machine can't have the host that the study asks for: {found[0].what}",
            hint="\n".join(f"{each.what}: {each.cure}" for each in found),
        )


def missing_of(wishes: Mapping[str, object]) -> tuple[Missing, ...]:
    """What this machine lacks for some wishes; each must have been read without a complaint."""
    found: list[Missing] = []
    for name, wish in wishes.items():
        setter = find_setter(name)
        found += setter.missing(setter.read(wish))
    return tuple(found)


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
            yield ("factor", factor.name, level.name, "host"), level.host
