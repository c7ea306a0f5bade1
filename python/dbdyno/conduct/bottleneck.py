"""Checks after each measured step whether the engine was the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.engine import Outcome
from dbdyno.model import EngineWarning, StepSummary, named_shards

BUSY = 0.95
"""Share of its shards' time above which an engine counts as saturated."""

LATE_US = 1000.0
"""Lag that shows in response times; lag is measured only while a client was free."""


def client_busy(outcome: Outcome, limit_cpus: float | None = None) -> float:
    """Share of its shards' time that an engine used in the window, or of what its `limit_cpus`,
    processors, leave of it; 0 for an in-process database."""
    hello, record = outcome.hello, outcome.summary
    if hello is None or record is None or hello.reactor == "none" or record.window_s <= 0:
        return 0.0
    most = min(hello.shards, limit_cpus or hello.shards)
    return record.cpu.total_us / 1e6 / record.window_s / most


def client_warnings(
    outcome: Outcome, summary: StepSummary, limit_cpus: float | None = None
) -> Iterator[EngineWarning]:
    """Warnings about the engine for readers of a step's figures."""
    hello, busy = outcome.hello, client_busy(outcome, limit_cpus)
    if hello is None or busy == 0:
        return
    if busy >= BUSY:
        is_limited = limit_cpus is not None and limit_cpus < hello.shards
        whose = (
            f"the {limit_cpus:g} processors of its limit"
            if is_limited
            else f"its {named_shards(hello.shards, bound=hello.shards_bound)}"
        )
        yield EngineWarning(
            "client-bound",
            f"the engine used {busy:.0%} of the processor time of {whose}: it may have "
            "limited the load, not the server",
            "give its limit more processors, or use a cheaper script"
            if is_limited
            else "give it more shards or a machine of its own, or use a cheaper script",
        )
    late_us = summary.lag_us.get("p99", 0.0)
    if late_us > LATE_US:
        yield EngineWarning(
            "client-late",
            f"1 % of the events that a free client waited for began more than "
            f"{late_us / 1000:.1f} ms late: part of the response time is the engine's",
            "give it more shards or a machine of its own, or a lower rate",
        )
