"""Settings shared by all runs of a study, or of a `bench`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.collect import Collector, OwnCollector, Scope
from dbdyno.conduct.cell_server import OpenServer, open_cell_server
from dbdyno.conduct.events import Observer
from dbdyno.conduct.sampling import chosen_collectors
from dbdyno.conduct.tables import Handling
from dbdyno.engine import Engine, LoadHosts
from dbdyno.model import Plan, Study


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings shared by all runs of a study."""

    study: Study
    plan: Plan
    engine: Engine
    script_path: tuple[Path, ...]
    observe: Observer
    own: tuple[OwnCollector, ...] = ()
    """The user's own collectors."""
    open_server: OpenServer = open_cell_server
    tables: Mapping[str, Handling] = field(default_factory=dict)
    """Run → how its tables are handled; other runs handle them as their cells declare."""
    sampled: bool = True
    """Whether machine and servers are sampled beside the load."""
    command_line: str = ""
    """Without passwords; empty: this process's."""
    scripts: Mapping[str, Path] = field(default_factory=dict)
    """Name → file, found once, before anything was run: what a name means later, in another
    working folder or beside a new file, does not matter."""

    hosts: LoadHosts | None = None
    """Where steps are loaded from; `None`: this machine."""

    def collectors(self, scope: Scope) -> tuple[Collector, ...]:
        """Collectors of a scope, and the user's own."""
        return chosen_collectors(scope, self.study.collect, self.own) if self.sampled else ()
