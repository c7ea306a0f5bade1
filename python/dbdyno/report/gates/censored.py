"""The gate on events that had not ended at the end of a window, whose times are lower bounds."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import StepSummary
from dbdyno.model.limits import MOST_CENSORED, MOST_P99_SHIFT, rests_on_censored
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge, counted_blocks
from dbdyno.report.terms.wording import count, percent


def _censored_gate(analysis: Analysis) -> Iterable[Gate]:
    """Only where events that had not ended are counted: in open loops, and in turns."""
    found = [block.summary for block in counted_blocks(analysis) if block.summary.censored]
    if not found:
        return
    worst = max(found, key=_share)
    most = f"{count(worst.censored or 0)} events beside {count(worst.events)} counted"
    text = f"At most {most} had not ended at the end of a window; their times are lower bounds."
    doubted = [summary for summary in found if rests_on_censored(summary)]
    if not doubted:
        yield Gate("Censored", "ok", text)
        return
    steps = f"{len(doubted)} step{'' if len(doubted) == 1 else 's'}"
    yield Gate(
        "Censored",
        "doubtful",
        f"{text} In {steps} they are more than {percent(MOST_CENSORED)} of the events, or the p99 "
        f"could be more than {percent(MOST_P99_SHIFT)} higher: high percentiles are too low there.",
    )


def _share(summary: StepSummary) -> float:
    return (summary.censored or 0) / ((summary.censored or 0) + summary.events)


GATE = Judge(110, _censored_gate)
