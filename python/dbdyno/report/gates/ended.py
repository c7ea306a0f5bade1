"""The gate on windows that an error ended before their time, as the study asks."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import label, varying
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.terms.wording import sentence_case

ENDED = "ended"
"""The code of the engine's warning."""
_MOST_NAMED = 6


def _ended_gate(analysis: Analysis) -> Iterable[Gate]:
    """Which windows, after how long, and by which error."""
    factors = varying(analysis.material.study)
    ended = [
        f"{label(run.manifest.cell, factors)}, block {run.manifest.block}: {warning['message']}"
        for run in analysis.material.runs
        for step in run.manifest.steps
        for warning in step.warnings
        if warning["code"] == ENDED
    ]
    if ended:
        more = f"; {len(ended) - _MOST_NAMED} more" if len(ended) > _MOST_NAMED else ""
        text = "; ".join(ended[:_MOST_NAMED]) + more
        brief = f"{len(ended)} window{'' if len(ended) == 1 else 's'} ended early"
        yield Gate("Ended early", "doubtful", f"{sentence_case(text)}.", brief)


GATE = Judge(175, _ended_gate)
