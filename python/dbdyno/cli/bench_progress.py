"""How far a bench is, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable

from dbdyno.cli.interval import interval_words
from dbdyno.cli.outlook import Outlook
from dbdyno.cli.pace import Pace
from dbdyno.cli.terminal import say
from dbdyno.conduct import Event, Recorded, StudyStarted
from dbdyno.formats.quantities import format_duration
from dbdyno.model import EngineWarning, Interval, Load, Output, Progress, Record, Summary

_PROGRESS_S = 1.0


class BenchProgress:
    """Shows progress on standard error, once a second."""

    def __init__(self, load: Load) -> None:
        self.outlook = Outlook(load)
        self._side_width = 0
        """Characters of the longest name of a side; 0: there is only one."""
        self._copies: list[Callable[[str], None]] = []
        self._next = time.monotonic() + _PROGRESS_S
        self._pace = Pace()
        self._untold = ""
        """The number of rows loaded, until it has been printed."""

    def note(self, text: str) -> None:
        """Prints a line of its own."""
        for copy in self._copies:
            copy(text)
        say(text, err=True)

    def copy_to(self, line: Callable[[str], None]) -> None:
        """From now on, passes each printed line to `line` as well."""
        self._copies.append(line)

    def show(self, event: Event) -> None:
        """One event of the bench."""
        if self._copies:  # Without a log nobody asks how far it is, and the engine is not asked.
            self.outlook.see(event)
        match event:
            case StudyStarted(plan=plan):
                sides = {run.label for run in plan.runs}
                self._side_width = max(map(len, sides)) if len(sides) > 1 else 0
            case Recorded(run=run, command=command, record=record):
                side = f"{run.label:<{self._side_width}} " if self._side_width else ""
                self._show(side, command, record)
            case _:
                pass

    def _show(self, side: str, command: str, record: Record) -> None:
        match record:
            case Interval() if command == "run" and record.phase in ("warm-up", "measure"):
                at = format_duration(round(record.end_ns / 1e9))
                self.note(f"{side}{record.phase:>8} {at:>8}  {interval_words(record)}")
            case Progress() if command == "run" or record.what == "rows":
                doing = "connect" if record.what == "connections" else command
                line = f"{side}{doing:>8}  {self._pace.text(record)}"
                due = time.monotonic() >= self._next
                if due:
                    self._next = time.monotonic() + _PROGRESS_S
                    self.note(line)
                self._untold = line if record.what == "rows" and not due else ""
            case Summary() if self._untold:
                self.note(self._untold)
                self._untold = ""
            case Output():
                self.note(record.text)
            case EngineWarning(code="connecting"):
                self.note(f"{side}{command:>8}  {record.message}")
            case _:
                pass
