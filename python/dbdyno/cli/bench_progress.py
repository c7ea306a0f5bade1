"""How far a bench is, on standard error."""

from __future__ import annotations

import time

from dbdyno.cli.interval import interval_words
from dbdyno.cli.pace import Pace
from dbdyno.cli.terminal import say
from dbdyno.formats.quantities import format_duration
from dbdyno.model import EngineWarning, Interval, Output, Progress, Record, Summary

_PROGRESS_S = 1.0


class BenchProgress:
    """Shows progress on standard error, once a second."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PROGRESS_S
        self._pace = Pace()
        self._untold = ""
        """The number of rows loaded, until it has been printed."""

    def show(self, command: str, record: Record) -> None:
        """One record of a command."""
        match record:
            case Interval() if command == "run" and record.phase in ("warm-up", "measure"):
                at = format_duration(round(record.end_ns / 1e9))
                say(f"{record.phase:>8} {at:>8}  {interval_words(record)}", err=True)
            case Progress() if command == "run" or record.what == "rows":
                line = f"{command:>8}  {self._pace.text(record)}"
                due = time.monotonic() >= self._next
                if due:
                    self._next = time.monotonic() + _PROGRESS_S
                    say(line, err=True)
                self._untold = line if record.what == "rows" and not due else ""
            case Summary() if self._untold:
                say(self._untold, err=True)
                self._untold = ""
            case Output():
                say(record.text, err=True)
            case EngineWarning(code="connecting"):
                say(f"{command:>8}  {record.message}", err=True)
            case _:
                pass
