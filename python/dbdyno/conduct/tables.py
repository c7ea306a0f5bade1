"""The tables of a cell's scripts: loaded, verified, dropped again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from dbdyno.conduct.ending import raise_failure
from dbdyno.conduct.verify import fill_warnings, verify_others, verify_tables
from dbdyno.engine import Outcome
from dbdyno.errors import StatementError
from dbdyno.model import Cell, EngineWarning, Load, Loaded, Option, Progress, TableFill
from dbdyno.servers import Server, Source, parse_provision

Prepare = Literal["no", "new", "replace"]
"""Whether the script loads its tables first, and whether it drops existing ones before."""


@dataclass(frozen=True, slots=True)
class Handling:
    """What becomes of the tables of a run's scripts."""

    prepare: Prepare
    cleanup: bool
    """Whether the scripts drop them in the end, whatever became of the run."""


def handling_of(cell: Cell) -> Handling:
    """In a study all tables are new. A server that isn't ours gets rid of them in the end."""
    return Handling("new", cleanup=parse_provision(cell.provision).source is Source.URL)


@dataclass(slots=True)
class CellTables:
    """Tables of one cell on its server."""

    cell: Cell
    load: Load
    handling: Handling
    server: Server
    call: Callable[[str, str, str, Mapping[str, Option]], Outcome]
    """Calls the engine: name of the call, command, script, the script's options."""
    warn: Callable[[EngineWarning], None]
    loads: list[TableFill] = field(default_factory=list)
    """Tables that were verified."""

    def make(self) -> Mapping[str, Sequence[Loaded]]:
        """Prepares the tables of the workload's script and of groups' scripts with tables of their
        own, unless existing ones are used; returns the tables loaded by each call. Raises
        `LabError`."""
        if self.handling.prepare == "no":
            return {}
        if self.handling.prepare == "replace":
            for _, outcome in self._called("cleanup", "replace"):
                # A script that drops tables without asking fails where there are none.
                if outcome.interrupted or not isinstance(outcome.failure, StatementError):
                    raise_failure(outcome, self.server)
        loaded: dict[str, Sequence[Loaded]] = {}
        for name, outcome in self._called("prepare", "prepare"):
            self._finish(outcome)
            loaded[name] = outcome.loaded
        return loaded

    def verify(
        self,
        loaded: Mapping[str, Sequence[Loaded]],
        observe: Callable[[Progress], None],
    ) -> None:
        """Reads the tables that were loaded and, on the run's own server, all others."""
        asked, look = self.load.verify, self.server.database.contents
        for command, tables in loaded.items():
            self.loads += verify_tables(command, tables, asked, look, observe=observe)
        known = list(chain.from_iterable(loaded.values()))
        self.loads += verify_others("prepare", self.server.database.tables(), known, asked, look)
        self.server.check()
        for warning in fill_warnings(self.loads):
            self.warn(warning)

    def needs_verifying(self, loaded: Mapping[str, Sequence[Loaded]]) -> bool:
        """Whether there is any table to be read."""
        if self.load.verify == "none":
            return False
        return any(loaded.values()) or bool(self.server.database.tables())

    def drop(self) -> None:
        """Drops them. Raises `LabError`."""
        for _, outcome in self._called("cleanup", "cleanup"):
            self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        for warning in outcome.warnings:
            self.warn(warning)
        raise_failure(outcome, self.server)

    def _called(self, command: str, name: str) -> Iterator[tuple[str, Outcome]]:
        """Name and outcome of each call, one call at a time."""
        script, options = self.cell.preparing.script, self.cell.preparing.options
        yield name, self.call(name, command, script, options)
        for group in self.load.groups:
            if group.prepare:
                of_group = f"{name}-{group.name}"
                script = group.script or self.cell.script
                yield of_group, self.call(of_group, command, script, group.options)
