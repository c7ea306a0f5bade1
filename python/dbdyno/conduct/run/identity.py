"""Which run it is, what it shares with the others of its study, and where it is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from dbdyno.conduct.setting import Setting
from dbdyno.model import Cell, Load, PlannedRun, load_of
from dbdyno.store import RunWriter


@dataclass(frozen=True, slots=True)
class Identity:
    """Known before anything is started, and the same to the end."""

    setting: Setting
    planned: PlannedRun
    writer: RunWriter
    attempt: int
    batch: tuple[str, ...] = ()
    """Ids of the runs that are up at the same time."""
    started_unix_s: float = field(default_factory=time.time)

    @property
    def cell(self) -> Cell:
        """The cell that is run."""
        return self.planned.cell

    @property
    def load(self) -> Load:
        """The cell's load: the study's, with what its levels change of it."""
        return load_of(self.setting.study.load, self.cell)
