"""Limits beyond which a window's figures don't count: errors, arrivals left over, a busy client."""

from __future__ import annotations

from dbdyno.model.generating import abilities
from dbdyno.model.result import StepSummary

MOST_ERRORS = 1e-4
"""Share of failed statements that is tolerated, beside those a study declares."""

SATURATED = 0.97
"""Share of its shards' time above which the engine was the bottleneck."""

MOST_BACKLOG = 0.01
"""Share of a window's events that may be due and not yet begun at its end."""

LEAST_BACKLOG = 10

MOST_CENSORED = 0.01
"""Share of a window's events that may not have ended at its end; their times are lower bounds."""

MOST_P99_SHIFT = 0.1
"""By how much of itself the 99th percentile may depend on what censored events took."""


def attempted(summary: StepSummary) -> int:
    """What could fail, failed or not: statements of the engine, operations of a tool."""
    done = summary.events
    if abilities(summary.generator).counts_statements:
        done = summary.statements
    return summary.errors + done


def fell_behind(summary: StepSummary) -> bool:
    """The rate was not reached: too many events were due and not yet begun at the end."""
    return too_far_behind(summary.backlog.at_end, summary.events)


def too_far_behind(due: float, events: int) -> bool:
    """Whether so many events, due and not begun, say beside those that ended that the rate was
    not reached."""
    return due > max(LEAST_BACKLOG, MOST_BACKLOG * events)


def rests_on_censored(summary: StepSummary) -> bool:
    """Too many events had not ended at the end of the window, or the 99th percentile depends on
    how long they took in the end."""
    if not summary.censored:
        return False
    p99, at_most = summary.latency_us.get("p99"), summary.p99_us_at_most
    if summary.censored > MOST_CENSORED * summary.events or p99 is None or at_most is None:
        return True
    return at_most > (1 + MOST_P99_SHIFT) * p99
