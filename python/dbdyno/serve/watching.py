"""A study while it is watched: the state of its folder, and what has changed since the last look.

All browsers that show a study share one watcher, which looks once a second while there are any.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from dbdyno.serve.command import CommandWatch, Json
from dbdyno.serve.inside import Inside
from dbdyno.serve.panels import Lines
from dbdyno.serve.plan import Declaration, declaration, list_of, number_of, read_json, text_of
from dbdyno.serve.run_watch import RunWatch, StepFigures
from dbdyno.serve.tails import JournalTail
from dbdyno.store.places import ANSWER, ATTEMPT, HOST_JOURNAL, LIVE, NOTES, PARTIAL, RECOVERED
from dbdyno.store.study_journal import note_of

MOST_MARKS = 500


@dataclass(slots=True)
class StudyWatch:
    """Everything that a page shows of a study."""

    inside: Inside
    name: str
    declared: Declaration = field(init=False)
    command: CommandWatch = field(init=False)
    lines: Lines = field(default_factory=Lines)
    now: Mapping[str, object] = field(default_factory=dict)
    """Figures of the newest interval under load."""
    status: str = "idle"
    """`running`, `killed` (its process ended without logging it), `stopped`, `complete` or
    `idle`."""
    changed: bool = True
    """Whether `state` may have changed since this was last set to false."""
    _runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Run → state and figures by step."""
    _ended: set[str] = field(default_factory=set)
    """Folders of runs that have ended, and were read."""
    _going: dict[str, RunWatch] = field(default_factory=dict)
    _notes: JournalTail = field(init=False)
    _host: JournalTail = field(init=False)
    _marks: deque[Json] = field(default_factory=lambda: deque(maxlen=MOST_MARKS))

    def __post_init__(self) -> None:
        self.declared = declaration(self.inside, self.name)
        self.command = CommandWatch(self.inside, self.name)
        self._notes = JournalTail(self.inside, self.name, NOTES)
        self._host = JournalTail(self.inside, self.name, HOST_JOURNAL)

    def look(self) -> None:
        """Reads what is new. Raises nothing, whatever the folder holds."""
        states: dict[str, os.stat_result] = {}
        with suppress(OSError):
            states = self.inside.states(self.name)
        if LIVE in states:
            self._look_at_command(states[LIVE])
        if NOTES in states:
            self._look_at_notes(states[NOTES])
        names = set(self.inside.folders(self.name, "runs"))
        going = {name for name in names if name.endswith(PARTIAL) and RECOVERED not in name}
        for name in sorted(going):
            self._look_at_run(name)
        for name in set(self._going) - going:
            del self._going[name]
        for name in sorted(names - going - self._ended):
            self._ended.add(name)
            self._read_ended(name)
            self.changed = True
        before, self.status = self.status, self._status()
        self.changed = self.changed or before != self.status or self.status != "running"

    def state(self) -> Json:
        """Everything but lines and progress, as JSON."""
        return {
            "study": self.name,
            "question": self.declared.question or self.name,
            "source": self.declared.source,
            "scale": self.declared.scale,
            "state": self.status,
            "report": self.has_report,
            "command": text_of(self.command.process.get("command")),
            "cells": self.declared.cells,
            "blocks": self.declared.blocks,
            "runs": self._grid(),
            "answer": self.answer,
            "answers": self.command.answers,
            "marks": list(self._marks),
            "printed": list(self.command.printed),
        }

    def progress(self) -> Json:
        """How much is done, and the newest figures."""
        return {
            **self.command.progress,
            "state": self.status,
            "now": self.now,
            "at": time.time(),
        }

    @property
    def has_report(self) -> bool:
        """Whether the study has ended and its report is newer than its last run."""
        with suppress(OSError):
            report = self.inside.state(self.name, "report.html").st_mtime
            runs = self.inside.state(self.name, "runs").st_mtime
            return report >= runs and self.status in ("complete", "stopped")
        return False

    @property
    def answer(self) -> Json:
        """The last answer: of this command, or of an earlier one if it has none yet."""
        answers = self.command.answers
        return answers[-1] if answers else dict(read_json(self.inside, self.name, ANSWER))

    def _status(self) -> str:
        if self.command.is_running:
            return "running"
        if self.command.is_gone:
            return "killed"
        planned = self.declared.needed
        complete = {name for name, run in self._runs.items() if run.get("is") == "complete"}
        if planned and planned <= complete:
            return "complete"
        return "stopped" if self._runs else "idle"

    def _look_at_command(self, state: os.stat_result) -> None:
        is_more, anew = self.command.look(state)
        self.changed = self.changed or is_more
        if anew:
            self.declared = declaration(self.inside, self.name)
        for run, run_state in self.command.runs.items():
            before = self._runs.get(run, {})
            if before.get("is") != "complete" or run_state == "complete":
                phase = before.get("phase", "") if run_state == "running" else ""
                self._runs[run] = {**before, "is": run_state, "phase": phase}
        self.command.runs.clear()

    def _look_at_notes(self, state: os.stat_result) -> None:
        for entry in self._notes.fresh(state)[0]:
            note = note_of(entry)
            if note is not None:
                self._mark("note", note.unix_ns / 1e9, note.text)

    def _look_at_run(self, folder: str) -> None:
        run = folder.removesuffix(PARTIAL).partition(ATTEMPT)[0]
        watch = self._going.get(folder)
        if watch is None:
            names = (planned.cell for planned in self.declared.runs if planned.run == run)
            place = self.name, "runs", folder
            watch = self._going[folder] = RunWatch(self.inside, place, next(names, run))
        before = watch.now
        is_other, marks = watch.look(self.lines, self._host)
        self.now = self.now if watch.now is before else watch.now
        self._runs[run] = watch.shown
        self.changed = self.changed or is_other
        for kind, at_unix_s, text in marks:
            self._mark(kind, at_unix_s, f"{watch.cell}: {text}")

    def _mark(self, kind: str, at: float, text: str) -> None:
        self.changed = True
        self._marks.append({"kind": kind, "at": at, "text": text_of(text)})

    def _read_ended(self, folder: str) -> None:
        run = folder.partition(ATTEMPT)[0]
        manifest = read_json(self.inside, self.name, "runs", folder, "manifest.json")
        if not manifest:
            self._runs.setdefault(run, {"is": "damaged"})
            return
        status = text_of(manifest.get("status"))
        if self._runs.get(run, {}).get("is") == "complete" and status != "complete":
            return
        error = manifest.get("error")
        reason = text_of(error.get("message")) if isinstance(error, dict) else ""
        steps = {figures.step: asdict(figures) for figures in self._figures(folder)}
        self._runs[run] = {
            "is": status,
            "steps": steps,
            "reason": reason,
            "phase": "",
            "folder": folder,
        }

    def _figures(self, folder: str) -> list[StepFigures]:
        """Figures of the steps of a run that has ended."""
        with suppress(OSError, ValueError, RecursionError):
            document = json.loads(self.inside.read(self.name, "runs", folder, "summary.json"))
            return [_figures_of(part) for part in list_of(document) if isinstance(part, dict)]
        return []

    def _grid(self) -> list[Json]:
        return [
            {
                "run": planned.run,
                "cell": planned.cell,
                "block": planned.block,
                "clients": planned.clients,
                "is": "left out" if planned.is_left_out else "to do",
                **self._shown(planned.run),
            }
            for planned in self.declared.runs
        ]

    def _shown(self, run: str) -> dict[str, Any]:
        """State and figures of a run; what ran when its command was killed runs no more."""
        shown = self._runs.get(run, {})
        if shown.get("is") == "running" and self.status == "killed":
            return {**shown, "is": "interrupted", "phase": ""}
        return shown


def _figures_of(summary: Mapping[str, object]) -> StepFigures:
    latency = summary.get("latency_us")
    times = latency if isinstance(latency, dict) else {}
    return StepFigures(
        step=int(number_of(summary.get("step"))),
        clients=int(number_of(summary.get("clients"))),
        events_per_s=number_of(summary.get("events_per_s")),
        errors=int(number_of(summary.get("errors"))),
        p95_us=number_of(times["p95"]) if "p95" in times else None,
        p99_us=number_of(times["p99"]) if "p99" in times else None,
    )
