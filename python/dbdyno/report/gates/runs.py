"""Whether all planned runs are there."""

from __future__ import annotations

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, Judge


def _runs(analysis: Analysis) -> Gate:
    states = {run.manifest.id: run.manifest.status for run in analysis.material.runs}
    absent = [dict(cell.levels) for cell in analysis.material.left_out]
    every = analysis.material.plan.runs
    planned = [r for r in every if r.id in states or dict(r.cell.levels) not in absent]
    complete = sum(states.get(run.id) == "complete" for run in planned)
    parts = [f"{complete} of {len(planned)} planned runs are complete"]
    for state in ("interrupted", "failed"):
        found = sum(states.get(run.id) == state for run in planned)
        if found:
            parts.append(f"{found} {state}")
    missing = sum(run.id not in states for run in planned)
    if missing:
        parts.append(f"{missing} missing")
    again = len(analysis.material.replaced)
    if again:
        parts.append(f"{again} other attempt{'s' if again > 1 else ''} not counted")
    verdict: GateState = "ok" if complete == len(planned) else "failed"
    if (left_out := len(every) - len(planned)) and verdict == "ok":
        verdict = "doubtful"
    if left_out:
        parts.append(f"{left_out} more left out: this machine can't run them")
    brief = f"{complete} of {len(planned)} runs complete"
    return Gate("Runs", verdict, ", ".join(parts) + ".", brief)


GATE = Judge(10, _runs)
