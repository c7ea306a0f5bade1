"""What a topology is: a module of this folder with a `TOPOLOGY`, found by `registry.py`.

It has the schema of its keys in [server.NAME], lists its members before any is started, and makes
one `Server` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dbdyno.formats.complaint import complaint
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.load_schema import Table
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Provision, Server, ServerSpec
from dbdyno.servers.sources.tool import Tool


class KeyOfTopologyError(ValueError):
    """A key of a topology that is wrong, with its place below the server's table."""

    def __init__(self, path: KeyPath, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.path, self.hint = path, hint


class NoKeys(Table):
    """Of a topology that has no keys of its own."""


@dataclass(frozen=True, slots=True)
class Openers:
    """What a topology opens its servers and programs with. Given to it, since `registry.py`, which
    has them, imports the topologies."""

    server: Callable[[ServerSpec, Path], Server]
    """A server by itself, with a folder for its logs."""
    tool: Callable[[str], Tool]
    """An outside program, by its provision text."""
    kind: Callable[[str], Kind]
    """A kind of server by its name."""
    provision: Callable[[str], Provision]
    """What a provision text means."""


@dataclass(frozen=True, slots=True)
class PlannedMember:
    """A server of a topology before it is started."""

    name: str
    role: str
    settings: Mapping[str, str]
    """All that it will be started with, except for ports and paths."""
    host: Mapping[str, object] = field(default_factory=dict)
    """Setter → its value, for this member alone."""
    is_ours: bool = True
    """Whether it is started at all; else somebody else runs it."""


def _alone(spec: ServerSpec, _keys: Any, _openers: Openers) -> Sequence[PlannedMember]:
    return (PlannedMember("server", "server", spec.settings),)


def _never(_provision: Provision, _keys: Any, _openers: Openers) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Topology:
    """How the servers of a run are arranged."""

    name: str
    """As study files have it, and its module but for the hyphens."""
    open: Callable[[ServerSpec, Any, Openers, Path], Server]
    """Makes the server, not yet started, from the topology's keys; logs stay in the folder."""
    keys: type[Table] = NoKeys
    """The schema of its keys."""
    members: Callable[[ServerSpec, Any, Openers], Sequence[PlannedMember]] = _alone
    """In the order in which they are started."""
    refuses: Callable[[Provision, Any, Openers], str | None] = _never
    """Why it can't be made of such servers; `None` if it can."""
    is_supervised: bool = False
    """Whether its members have a `Supervisor`."""

    def read(self, asked: Mapping[str, object]) -> Table:
        """The keys that a study gives it; raises `KeyOfTopologyError`."""
        own = {key: value for key, value in asked.items() if key != "name"}
        try:
            return self.keys.model_validate(own)
        except ValidationError as error:
            raise KeyOfTopologyError(*complaint(error, self.keys)) from error
