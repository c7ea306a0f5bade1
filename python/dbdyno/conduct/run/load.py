"""What puts load on a run's server: one protocol for the engine and for outside programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dbdyno.model import EngineWarning, Metric, Sample, Step, TableFill


@dataclass(frozen=True, slots=True)
class LoadAccount:
    """What a load says of itself for the manifest and the facts, at any time."""

    luajit: str = ""
    tables: tuple[TableFill, ...] = ()
    """Tables that were verified."""
    warnings: tuple[EngineWarning, ...] = ()
    """Of loading tables."""
    command_lines: tuple[str, ...] = ()
    """What repeats each of its calls by hand."""
    tools: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Generator → the program used."""
    samples: tuple[Sample, ...] = ()
    metrics: Mapping[str, Sequence[Metric]] = field(default_factory=dict)
    """Of those samples, by source."""


NO_ACCOUNT = LoadAccount()
"""Of a run that did not come to its load."""


class RunLoad(Protocol):
    """The load of one run, from its tables to its last step."""

    def check_fit(self) -> None:
        """Checks limits of server and machine before any data is touched. Raises `LabError`."""

    def make_tables(self) -> None:
        """Loads and verifies the tables that the steps need. Raises `LabError`."""

    def step(self, step: Step) -> None:
        """Runs one step as one window, in its phase. Raises `LabError`; what was measured is
        kept."""

    def drop_tables(self) -> None:
        """Drops tables that are not to stay. Raises `LabError`."""

    def client_pids(self) -> Sequence[int]:
        """Processes that put the load on, as far as they are known."""

    def account(self) -> LoadAccount:
        """What it says of itself."""
