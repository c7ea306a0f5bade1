"""Writes a running study's events to its live log, which `dbdyno serve` reads, and after each block
the answer so far."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from dbdyno.cli.progress import Shown
from dbdyno.conduct import Event, RunEnded, RunStarted, StudyStarted
from dbdyno.errors import LabError
from dbdyno.formats.passwords import words_without_passwords
from dbdyno.store import LiveLog, Store

_PROGRESS_S = 1.0


class Live:
    """Shows each event and logs it. The study goes on if an answer can't be computed."""

    def __init__(self, store: Store, shown: Shown, *, blocks: int, answers: bool = True) -> None:
        self._store = store
        self._shown = shown
        self._blocks = blocks
        self._answers = answers
        self._study = ""
        self._log: LiveLog | None = None
        self._left: Counter[int] = Counter()
        """Block → how many of its runs are still to end."""
        self._interrupted: set[int] = set()
        """Blocks with a run that was interrupted: they get no answer."""
        self._due_s = 0.0

    def show(self, event: Event) -> None:
        """One event of the study."""
        if isinstance(event, StudyStarted):
            self._begin(event)
        self._shown.show(event)
        match event:
            case RunStarted(run=run):
                self._keep_run(run.id, "running")
            case RunEnded(run=run, manifest=manifest):
                self._keep_run(run.id, manifest.status)
                self._left[run.block] -= 1
                if manifest.status == "interrupted":
                    self._interrupted.add(run.block)
                over = not self._left[run.block] and run.block not in self._interrupted
                if over and self._answers:
                    self._answer()
            case _ if time.monotonic() >= self._due_s:
                self._keep_progress()
            case _:
                pass

    def end(self, state: str) -> None:
        """The command is over: `complete` or `interrupted`."""
        if self._log is not None:
            self._keep_progress()
            self._log.end(state)

    def _begin(self, event: StudyStarted) -> None:
        self._study = event.folder
        self._left = Counter(run.block for run in event.missing)
        if self._log is None:
            command = shlex.join(["dbdyno", *words_without_passwords(sys.argv[1:])])
            folder = self._store.root / event.folder
            self._log = LiveLog(folder, command=command, blocks=self._blocks)
            self._shown.copy_to(self._log.line)

    def _keep_run(self, run: str, state: str) -> None:
        if self._log is not None:
            self._log.run(run, state)
            self._keep_progress()

    def _keep_progress(self) -> None:
        if self._log is not None:
            self._log.progress(self._shown.outlook.share, self._shown.outlook.left_s)
        self._due_s = time.monotonic() + _PROGRESS_S

    def _answer(self) -> None:
        """Logs the answer after a block. No load is on: the block's servers are stopped."""
        # Statistics take two seconds to import: only once there is something to compute.
        from dbdyno.report.answer.so_far import answer_so_far

        try:
            answer = answer_so_far(self._store.root, self._study)
        except LabError as error:
            self._shown.note(f"no answer so far: {error.message}")
            return
        if self._log is not None:
            final = answer.blocks_done >= self._blocks
            self._log.answer({**asdict(answer), "blocks": self._blocks, "final": final})
        if answer.blocks_done < self._blocks:
            blocks = f"{answer.blocks_done} of {self._blocks} blocks"
            self._shown.note(f"so far, {blocks}, not final: {answer.text}")


@contextmanager
def watched(store: Store, shown: Shown, *, blocks: int, answers: bool = True) -> Iterator[Live]:
    """Logs a study's events in the block, and at its end how it ended; with `answers`, the answer
    so far after each block."""
    live = Live(store, shown, blocks=blocks, answers=answers)
    try:
        yield live
    except BaseException:
        live.end("interrupted")
        raise
    live.end("complete")
