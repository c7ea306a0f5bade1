"""What the engine and other tools warned of."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.ended import ENDED
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.gates.warned import warned


def _step_warnings(analysis: Analysis) -> Iterable[Gate]:
    return warned(
        (f"{'Tool' if step.reactor is None else 'Engine'}: {warning['code']}", warning)
        for run in analysis.material.runs
        for step in run.manifest.steps
        for warning in step.warnings
        if warning["code"] != ENDED
    )


GATE = Judge(180, _step_warnings)
