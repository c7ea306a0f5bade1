"""What a run has measured so far. It is only added to: what was measured before a failure stays."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dbdyno.conduct.events import PhaseStarted
from dbdyno.conduct.run.identity import Identity
from dbdyno.model import PhaseSpan, Step, StepResult, StepSummary


@dataclass(slots=True)
class Measured:
    """Phases, and what each step gave."""

    identity: Identity
    phases: list[PhaseSpan] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    summaries: list[StepSummary] = field(default_factory=list)
    counters: list[Mapping[str, object]] = field(default_factory=list)
    """The server's, before and after each step that completed."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Notes when the block began and ended, however it ended."""
        self.identity.setting.observe(PhaseStarted(self.identity.planned, name))
        journal, start = self.identity.writer.journal, time.time()
        journal.phase(name, start)
        try:
            yield
        finally:
            span = PhaseSpan(name, start, time.time())
            self.phases.append(span)
            journal.phase(name, start, span.end_unix_s)

    def add(self, result: StepResult, summary: StepSummary | None) -> None:
        """A step's result, and its figures if it has any."""
        if summary is not None:
            self.summaries.append(summary)
        self.steps.append(result)
        self.identity.writer.journal.step(result, summary)

    def add_counters(self, step: Step, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        """The server's counters around a step."""
        self.counters.append({"step": step.index, "before": before, "after": after})
