"""The plan of a study: what will be run, in which order, with which seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbdyno.model.generating import ENGINE, Abilities, abilities
from dbdyno.model.load import Option
from dbdyno.model.part import Missing

Order = Literal["turns", "runs"]
"""Cells that are up together are driven in turns of seconds, or each cell is a run of its own."""

Together = Literal["alike", "all"]
"""Which cells are up together: those with the same script and options, or also those that differ in
them, since each has a server and data of its own."""

AGAIN = "-again"
"""Suffix of a level's name: the second copy of the baseline cell."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Who makes the tables of a workload whose script expects them to be there."""

    script: str
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels, resolved to its settings."""

    levels: Mapping[str, str]
    """Factor → level, in the study's order of factors."""
    provision: str
    settings: Mapping[str, str]
    script: str
    """Empty where the generator takes none."""
    options: Mapping[str, Option]
    host: Mapping[str, object] = field(default_factory=dict)
    """Setter → its value."""
    generator: str = ENGINE
    connection: Mapping[str, bool | str] = field(default_factory=dict)
    """`transport` (`unix`, `tcp`), `tls` and `compression` (`lz4`, `snappy`, `zlib`, `zstd`, or
    false) of the clients' connections; missing ones are the server's default."""
    proxy: Mapping[str, object] = field(default_factory=dict)
    """`kind`, `processes`, `version` and `settings` of the proxy in front of the server; empty:
    none."""
    topology: Mapping[str, object] = field(default_factory=dict)
    """`name` of the topology and its keys; empty: a single server, behind `proxy` if there is
    one."""
    most_clients: int | None = None
    """Steps with more clients are left out: the cell's server can't have them."""
    tables: Tables | None = None
    """`None`: the script's own `prepare` makes them."""
    c_functions: tuple[str, ...] = ()
    """Files in C that are compiled for the server."""
    load: Mapping[str, object] = field(default_factory=dict)
    """What it changes of the study's load, as plain values (`cell_load.py`); empty: nothing."""

    @property
    def preparing(self) -> Tables:
        """The script that is called to make the tables."""
        return self.tables or Tables(self.script, self.options)

    @property
    def abilities(self) -> Abilities:
        """Of its generator."""
        return abilities(self.generator)

    @property
    def label(self) -> str:
        """All its levels in order, for people: `sqlite, wal, full`."""
        return ", ".join(self.levels.values()) or "all"


@dataclass(frozen=True, slots=True)
class Step:
    """One load level of a run."""

    index: int
    clients: int
    seed: int


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One cell in one block."""

    id: str
    """Also the name of its folder; equal plans have equal ids."""
    cell: Cell
    block: int
    """Number of the block, from 1."""
    position: int
    """Place in the order of all runs, from 1."""
    data_seed: int
    """The same for all runs of a study: all cells get the same rows."""
    seed: int
    steps: tuple[Step, ...]

    def step(self, index: int) -> Step:
        """The step of that number; a run may leave some out."""
        return next(step for step in self.steps if step.index == index)

    @property
    def label(self) -> str:
        """The levels that vary within the study, for people: `wal, full`."""
        return self.id.partition("-")[2].replace(",", ", ")


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a study in the order in which they are carried out."""

    study: str
    scale: str
    seed: int
    runs: tuple[PlannedRun, ...]
    fingerprint: str
    """Digest of everything that determines the figures except the number of blocks: of two plans
    with equal digests, the longer continues the shorter."""
    order: Order = "runs"
    """Whether cells that can be up together are driven in turns."""
    together: Together = "alike"
    """Which cells can be."""

    @property
    def blocks(self) -> int:
        """Number of blocks; 0 for a plan without runs."""
        return max((run.block for run in self.runs), default=0)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cell that is not run, because the machine lacks what it asks of the host."""

    levels: Mapping[str, str]
    """Factor → level."""
    missing: tuple[Missing, ...]
