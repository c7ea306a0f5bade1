"""A run that has not ended, followed through its journals and the engine's records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from dbdyno.serve.inside import Inside
from dbdyno.serve.panels import Lines, add_interval
from dbdyno.serve.plan import number_of, text_of
from dbdyno.serve.tails import JournalTail, RecordTail
from dbdyno.store.journal import Entry
from dbdyno.store.places import HOST_JOURNAL, JOURNAL, RECORDS
from dbdyno.store.run_journal import Journalled

Mark = tuple[str, float, str]
"""Its kind (`phase`, `fault`), when it was, in seconds since 1970, and its text."""


@dataclass(frozen=True, slots=True)
class StepFigures:
    """Figures of a step that has ended, from its summary."""

    step: int
    clients: int
    events_per_s: float
    errors: int
    p95_us: float | None
    p99_us: float | None


@dataclass(slots=True)
class RunWatch:
    """The folder of a run that has not ended."""

    inside: Inside
    place: tuple[str, ...]
    cell: str
    shown: dict[str, Any] = field(default_factory=lambda: {"is": "running"})
    """State, phase, turns and figures by step, as the page shows them."""
    now: Mapping[str, object] = field(default_factory=dict)
    """Figures of the newest interval under load."""
    _journal: JournalTail = field(init=False)
    _records: RecordTail = field(init=False)
    _held: Journalled = field(default_factory=Journalled)
    _origin_s: float = 0.0
    """Wall clock at time 0 of the engine's call."""
    _steps: int = 0
    """How many summaries are in `shown`."""

    def __post_init__(self) -> None:
        self._journal = JournalTail(self.inside, *self.place, JOURNAL)
        self._records = RecordTail(self.inside, *self.place, RECORDS)

    def look(self, lines: Lines, host: JournalTail) -> tuple[bool, Sequence[Mark]]:
        """Reads what is new. Returns whether `shown` has changed, and the new marks.
        `host` follows the host's journal, which the folders of all runs of a batch share."""
        states: dict[str, os.stat_result] = {}
        with suppress(OSError):
            states = self.inside.states(*self.place)
        entries, anew = self._journal.fresh(states.get(JOURNAL))
        if anew:
            self._held, self._steps = Journalled(), 0
        before = len(self._held.phases)
        take_samples(lines, self.cell, self._held, entries)
        if HOST_JOURNAL in states:
            host.at(*self.place, HOST_JOURNAL)
            take_samples(lines, "", Journalled(), host.fresh(states[HOST_JOURNAL])[0])
        for record in self._records.fresh(states.get(RECORDS)):
            self._record(lines, record)
        begun = list(self._held.phases)[before:]
        marks: list[Mark] = [("phase", start_unix_s, name) for name, start_unix_s in begun]
        marks += [
            ("fault", number_of(entry.get("at")) / 1e9, text_of(entry["fault"]))
            for entry in entries
            if "fault" in entry
        ]
        return self._keep(), marks

    def _record(self, lines: Lines, record: Mapping[str, object]) -> None:
        if record.get("record") == "hello":
            self._origin_s = number_of(record.get("start_unix_ns")) / 1e9
        elif record.get("record") == "interval":
            self.now = add_interval(lines, self.cell, record, self._origin_s) or self.now

    def _keep(self) -> bool:
        shown, held = self.shown, self._held
        name, end = next(reversed(held.phases.items()), (("", 0.0), 0.0))
        phase, turns = name[0] if end is None else "", len(held.turns)
        is_other = (phase, turns) != (shown.get("phase"), shown.get("turns"))
        shown["phase"], shown["turns"] = phase, turns
        for summary in held.summaries[self._steps :]:
            figures = StepFigures(
                step=summary.step,
                clients=summary.clients,
                events_per_s=summary.events_per_s,
                errors=summary.errors,
                p95_us=summary.latency_us.get("p95"),
                p99_us=summary.latency_us.get("p99"),
            )
            shown.setdefault("steps", {})[summary.step] = asdict(figures)
            is_other = True
        self._steps = len(held.summaries)
        return is_other


def take_samples(lines: Lines, cell: str, held: Journalled, entries: Sequence[Entry]) -> None:
    """Adds a journal's entries to `held`, but its samples to the lines of `cell` instead."""
    for entry in entries:
        held.take([entry])
        if "metrics" in entry:
            lines.know(held.metrics)
        if held.samples:
            lines.samples(cell, held.samples)
            held.samples.clear()
