"""Whether the study's file still asks what it asked when it was measured."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.declared import is_exploratory


def declared_gate(analysis: Analysis) -> Iterable[Gate]:
    """Where the study's file has changed since its first run."""
    changes = analysis.material.changes
    if changes:
        text = "; ".join(f"`{c.what}` was {c.then}, is {c.now}" for c in changes).rstrip(".")
        why = " What decides was chosen after the data: the verdicts are exploratory."
        explored = is_exploratory(changes)
        text = f"Changed in the study's file since the first run: {text}.{why if explored else ''}"
        yield Gate("Declared", "doubtful" if explored else "ok", text)


GATE = Judge(30, declared_gate)
