"""Shows a study's progress: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dbdyno.cli.outlook import Outlook
from dbdyno.cli.pace import Pace
from dbdyno.cli.terminal import harmless
from dbdyno.cli.text import clients, count, fold, step_line
from dbdyno.conduct import (
    CellsLeftOut,
    Event,
    HostInspected,
    LoadWarned,
    PhaseStarted,
    Recorded,
    RunEnded,
    RunsRecovered,
    RunStarted,
    StudyStarted,
)
from dbdyno.formats.left_out import left_out_sentences
from dbdyno.formats.quantities import format_duration
from dbdyno.model import Interval, Load, Plan, PlannedRun, RunManifest, Step
from dbdyno.model import Progress as Rows


class Shown(Protocol):
    """Shows events as they come."""

    @property
    def outlook(self) -> Outlook: ...
    def show(self, event: Event) -> None: ...
    def note(self, text: str) -> None: ...
    def copy_to(self, line: Callable[[str], None]) -> None: ...


class Shower(Shown, Protocol):
    """The same as a context manager: nothing else writes to the terminal meanwhile."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def shower(load: Load, console: Console, longest: Plan | None = None) -> Shower:
    """The display for the kind of standard error; `longest`: see `Outlook`."""
    outlook = Outlook(load, longest)
    return Bar(outlook, console) if console.is_terminal else Lines(outlook, console)


class Lines:
    """One line when a run begins and one when it ends."""

    def __init__(self, outlook: Outlook, console: Console) -> None:
        self._console = console
        self.outlook = outlook
        self._copies: list[Callable[[str], None]] = []
        self._total = 0
        self._number = 0
        self._numbers: dict[str, int] = {}
        """Run id → its place; runs of a batch end long after the next has begun."""
        self._any_complete = False
        self._reasons: dict[str, str] = {}
        """Why a run failed → the first one that did."""
        self._flags: set[str] = set()
        self._left_out: set[str] = set()
        """Sentences, told once though a study that may stop early starts block by block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def note(self, text: str) -> None:
        """Prints a line of its own."""
        self._print(text)

    def copy_to(self, line: Callable[[str], None]) -> None:
        """From now on, passes each printed line to `line` as well."""
        self._copies.append(line)

    def show(self, event: Event) -> None:
        """Prints events worth a line."""
        self.outlook.see(event)
        match event:
            case StudyStarted(plan=plan, missing=missing):
                self._total, self._number = len(plan.runs), len(plan.runs) - len(missing)
                self._any_complete = self._any_complete or self._number > 0
                if self._number and not self._numbers:
                    self._print(f"{self._number} of {self._total} runs are in the store already")
            case RunsRecovered(runs=runs):
                for recovered in runs:
                    reason = recovered.error.message if recovered.error else recovered.status
                    self._print(f"note: {recovered.id}: {reason}")
            case CellsLeftOut(cells=cells):
                for sentence, hint in left_out_sentences(cells):
                    if sentence not in self._left_out:
                        self._left_out.add(sentence)
                        self._print(f"{sentence}\n  hint: {hint}")
            case RunStarted(run=run, attempt=attempt):
                self._number += 1
                self._numbers[run.id] = self._number
                again = f", attempt {attempt}" if attempt > 1 else ""
                self._print(f"{self._place(run)} {run.label} · block {run.block}{again}")
            case HostInspected(red_flags=flags):
                for flag in flags:
                    if flag.code not in self._flags:
                        self._flags.add(flag.code)
                        self._print(f"note: {flag.message}\n  hint: {flag.hint}")
            case LoadWarned(run=run, warning=warning):
                hint = f"\n  hint: {warning.hint}" if warning.hint else ""
                self._print(f"{self._place(run)} note: {warning.message}{hint}")
            case RunEnded(run=run, manifest=manifest, summaries=summaries):
                took = format_duration(manifest.ended_unix_s - manifest.started_unix_s)
                place = self._place(run)
                self._any_complete = self._any_complete or manifest.status == "complete"
                for summary in summaries:
                    self._print(f"{place}   {step_line(run.step(summary.step), summary)}")
                self._print(f"{place} {manifest.status} in {took}{self._remark(manifest)}")
            case _:
                pass

    def _remark(self, manifest: RunManifest) -> str:
        """Why a run failed, and the time left; of an interrupted study neither says anything.

        Where nothing was measured at all, the command ends with the reason at once.
        """
        if manifest.status == "interrupted":
            return ""
        left = f" · {self.outlook.words} left"
        if manifest.error is None or (self._number == self._total and not self._any_complete):
            return left
        known = self._reasons.setdefault(manifest.error.message, manifest.id)
        if known != manifest.id:
            return f": as {known}{left}"
        hint = f"\n  hint: {manifest.error.hint}" if manifest.error.hint else ""
        return f": {manifest.error.message}{left}{hint}"

    def _place(self, run: PlannedRun) -> str:
        return f"[{self._numbers[run.id]}/{self._total}]"

    def _print(self, text: str) -> None:
        for copy in self._copies:
            copy(text)
        columns = self._console.width if self._console.is_terminal else None
        self._console.print(
            fold(harmless(text), columns), markup=False, highlight=False, soft_wrap=True
        )


class Bar:
    """The same lines, above a bar with the current activity and the time left."""

    def __init__(self, outlook: Outlook, console: Console) -> None:
        self._lines = Lines(outlook, console)
        self.outlook = outlook
        self._pace = Pace()
        self._text = "starting"
        self._progress = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]} left"),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task: TaskID = self._progress.add_task(self._text, total=1, left="?")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Prints a line above the bar."""
        self._lines.note(text)

    def copy_to(self, line: Callable[[str], None]) -> None:
        """From now on, passes each printed line to `line` as well."""
        self._lines.copy_to(line)

    def show(self, event: Event) -> None:
        """Prints and moves the bar."""
        self._lines.show(event)
        self._text = harmless(self._describe(event) or self._text)
        self._progress.update(
            self._task,
            completed=self.outlook.share,
            left=self.outlook.words,
            description=self._text,
        )

    def _describe(self, event: Event) -> str | None:
        match event:
            case PhaseStarted(run=run, phase=phase):
                return f"{run.label} · {_phase(run, phase)}"
            case Recorded(run=run, command=command, record=Rows(what="rows") as rows):
                return f"{run.label} · {command} · {self._pace.text(rows)}"
            case Recorded(run=run, step=Step() as step, record=Interval() as interval):
                length_s = (interval.end_ns - interval.start_ns) / 1e9
                rate = interval.counters.events / length_s if length_s > 0 else 0.0
                place = f"{clients(step.clients)} · {interval.phase}"
                return f"{run.label} · {place} · {count(rate)} events/s"
            case _:
                return None


def _phase(run: PlannedRun, phase: str) -> str:
    kind, _, index = phase.partition(" ")
    return clients(run.step(int(index)).clients) if kind == "step" else phase
