"""What a run asks of the machine, checked, looked for and applied as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.errors import LabError, MachineError, UsageError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model.part import Missing
from dbdyno.setters.registry import find_setter
from dbdyno.setters.setter import Applied, Facts, Scene

Host = Mapping[str, object]
"""Setter → what the study says of it."""


@dataclass(frozen=True, slots=True)
class Outfit:
    """All setters of a run, applied."""

    parts: Mapping[str, Applied]
    server: Launch
    client: Launch

    def facts(self) -> Mapping[str, Facts]:
        """Setter → what was so before and is so now."""
        return {
            name: {"before": dict(part.before), "after": dict(part.after)}
            for name, part in self.parts.items()
        }

    def before_step(self) -> None:
        """To be called before each step."""
        for part in self.parts.values():
            if part.before_step is not None:
                part.before_step()

    def witness(self, pids: Sequence[int]) -> Mapping[str, Facts]:
        """Setter → what the server's processes really got of it."""
        told = {name: dict(part.witness(pids)) for name, part in self.parts.items()}
        return {name: facts for name, facts in told.items() if facts}


def check_host(host: Host) -> None:
    """Refuses what no machine could do.

    # Errors
    `UsageError` names the setter, what was expected and what was found.
    """
    for name, value in host.items():
        _read(name, value)


def missing_of_host(host: Host) -> Mapping[str, tuple[Missing, ...]]:
    """Setter → what this machine lacks for it; setters that lack nothing are left out."""
    lacking = {name: find_setter(name).missing(_read(name, value)) for name, value in host.items()}
    return {name: missing for name, missing in lacking.items() if missing}


def apply_all(host: Host, guarded: Guarded, scene: Scene) -> Outfit:
    """Applies them in the order of the study. The guard takes them back in reverse when it closes.

    # Errors
    `MachineError` when something is missing (then nothing was changed) or is refused.
    """
    for name, missing in missing_of_host(host).items():
        raise MachineError(f"host.{name}: {missing[0].what}", hint=missing[0].cure)
    parts: dict[str, Applied] = {}
    server = client = ORDINARY
    for name, value in host.items():
        parts[name] = _apply(name, value, guarded, scene)
        server, client = server.joined(parts[name].server), client.joined(parts[name].client)
    return Outfit(parts, server, client)


def _apply(name: str, value: object, guarded: Guarded, scene: Scene) -> Applied:
    try:
        return find_setter(name).apply(_read(name, value), guarded, scene)
    except OSError as error:
        raise MachineError(f"host.{name}: {error}") from error
    except LabError as error:
        raise MachineError(f"host.{name}: {error.message}", hint=error.hint) from error


def _read(name: str, value: object) -> object:
    try:
        checked: object = find_setter(name).read(value)
    except ValueError as error:
        raise UsageError(f"host.{name}: {error}", hint="see docs/reference/host.md") from None
    return checked
