"""The host settings of a run, checked and applied as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.errors import LabError, MachineError, UsageError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model.part import Missing
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Applied, Facts, Scene

Wishes = Mapping[str, object]
"""Setter → its value in the study."""


@dataclass(frozen=True, slots=True)
class Outfit:
    """This machine with all setters applied."""

    parts: Mapping[str, Applied] = field(default_factory=dict)
    """By setter, in the order applied."""
    members: Mapping[str, Outfit] = field(default_factory=dict)
    """What is set for single members of a topology in addition, by their names."""

    @property
    def server(self) -> Launch:
        """How servers are started."""
        return _joined([part.server for part in self.parts.values()])

    @property
    def client(self) -> Launch:
        """How load generators are started."""
        return _joined([part.client for part in self.parts.values()])

    @property
    def launches(self) -> Mapping[str, Launch]:
        """How members of a topology are started in addition, by their names."""
        parts = [part.members for part in self.parts.values()]
        parts.append({name: outfit.server for name, outfit in self.members.items()})
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: _joined([part[name] for part in parts if name in part]) for name in names}

    def joined(self, own: Outfit) -> Outfit:
        """These settings plus those of one run."""
        return Outfit({**self.parts, **own.parts}, {**self.members, **own.members})

    def before_step(self) -> None:
        """Call it before each step."""
        for part in self.parts.values():
            if part.before_step is not None:
                part.before_step()

    def facts(self, pids: Sequence[int] = ()) -> Mapping[str, Mapping[str, Facts]]:
        """Setter → the state before and after, and what these processes got of it; those of a
        member begin with its name."""
        facts: dict[str, Mapping[str, Facts]] = {
            name: {
                "before": dict(part.before),
                "after": dict(part.after),
                "got": dict(part.witness(pids)),
            }
            for name, part in self.parts.items()
        }
        for member, outfit in self.members.items():
            facts |= {f"{member}: {name}": part for name, part in outfit.facts().items()}
        return facts


UNCHANGED = Outfit()
"""The machine as it is."""


def _joined(launches: Sequence[Launch]) -> Launch:
    joined = ORDINARY
    for launch in launches:
        joined = joined.joined(launch)
    return joined


def missing_of_host(wishes: Wishes) -> Mapping[str, tuple[Missing, ...]]:
    """Setter → what this machine lacks for it; setters that lack nothing are left out.

    # Errors
    `UsageError` for an unknown setter, or a value it refuses.
    """
    lacking = {
        name: find_setter(name).missing(_read(name, value)) for name, value in wishes.items()
    }
    return {name: missing for name, missing in lacking.items() if missing}


def apply_all(wishes: Wishes, guarded: Guarded, scene: Scene) -> Outfit:
    """Applies the settings in the study's order. The guard undoes them in reverse when it closes.

    # Errors
    `MachineError` if something is missing (then nothing was changed) or refused.
    """
    if lacking := missing_of_host(wishes):
        name, first = next(iter(lacking.items()))
        every = (lack for missing in lacking.values() for lack in missing)
        raise MachineError(
            f"host.{name}: {first[0].what}",
            hint="\n".join(f"{lack.what}: {lack.cure}" for lack in every),
        )
    return Outfit({name: _apply(name, value, guarded, scene) for name, value in wishes.items()})


def _apply(name: str, value: object, guarded: Guarded, scene: Scene) -> Applied:
    try:
        return find_setter(name).apply(_read(name, value), guarded, scene)
    except OSError as error:
        raise MachineError(
            f"host.{name}: {error}", hint="run as root, outside of a container"
        ) from error
    except LabError as error:
        raise MachineError(f"host.{name}: {error.message}", hint=error.hint) from error


def _read(name: str, value: object) -> object:
    try:
        checked: object = find_setter(name).read(value)
    except ValueError as error:
        raise UsageError(f"host.{name}: {error}", hint="see docs/reference/host.md") from None
    return checked
