"""What puts a step of a run out of verdicts: its figures are shown, and decide nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdyno.model import ENGINE, RunManifest, StepSummary

MOST_ERRORS = 1e-4
"""Share of failed statements that is tolerated."""

SATURATED = 0.97
"""Share of its shards' time from which the engine itself has set the pace."""

MOST_BACKLOG = 0.01
"""Share of a window's events that may be due and not begun at its end."""

LEAST_BACKLOG = 10


def faults(run: RunManifest, summary: StepSummary) -> tuple[str, ...]:
    """Why this step counts for no verdict, each in a few words; empty: it counts."""
    return tuple(_faults(run, summary))


def _faults(run: RunManifest, summary: StepSummary) -> Iterator[str]:
    tried = attempted(summary)
    if tried and summary.errors > MOST_ERRORS * tried:
        share = 100 * summary.errors / tried
        yield f"{share:.2g} % of its {tried_word(summary.generator)} failed"
    for load in run.loads:
        if load.sent is not None and load.rows is not None and load.rows < load.sent:
            yield f"rows are missing in `{load.table}`"
    if engine_busy(run, summary) > SATURATED:
        yield "the client was saturated"
    behind = summary.backlog.at_end
    if behind > max(LEAST_BACKLOG, MOST_BACKLOG * summary.events):
        yield f"{behind} events were due and not begun"


def attempted(summary: StepSummary) -> int:
    """What could fail, failed or not: statements of the engine, operations of a tool."""
    done = summary.statements if summary.generator == ENGINE else summary.events
    return summary.errors + done


def tried_word(generator: str) -> str:
    """What `attempted` counts."""
    return "statements" if generator == ENGINE else "operations"


def engine_busy(run: RunManifest, summary: StepSummary) -> float:
    """Share of the shards' time that the engine used in the window; 0 for databases inside it."""
    step = next((step for step in run.steps if step.index == summary.step), None)
    cpu = summary.record.get("cpu")
    if step is None or step.reactor == "none" or not summary.window_s:
        return 0.0
    if not isinstance(cpu, Mapping):
        return 0.0
    busy_us = float(cpu.get("user_us", 0)) + float(cpu.get("system_us", 0))
    return busy_us / 1e6 / summary.window_s / (step.shards or 1)
