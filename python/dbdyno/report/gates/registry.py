"""All gates, found by their modules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import dbdyno.report.gates
from dbdyno.plugins import plugins
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.imported import not_known, tools


@cache
def judges() -> tuple[Judge, ...]:
    """In the order of the page."""
    by_module = plugins(dbdyno.report.gates, "GATE")
    return tuple(sorted((judge for _, judge in by_module), key=lambda judge: judge.place))


def gates(analysis: Analysis) -> tuple[Gate, ...]:
    """All gates of a study. Those of imported results that depend on unknown information can't
    pass."""
    return tuple(_judged(analysis))


def _judged(analysis: Analysis) -> Iterable[Gate]:
    runs = analysis.material.runs
    unknown = not_known(runs)
    for judge in judges():
        judged = judge.judge(analysis)
        for gate in (judged,) if isinstance(judged, Gate) else judged:
            kept = judge.keeps_failed and gate.state == "failed"
            if kept or judge.needs not in unknown:
                yield gate
            else:
                reason = f"Not known: the output of {tools(runs)} does not say it."
                yield Gate(gate.name, "not judged", reason)
