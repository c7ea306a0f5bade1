"""Whether runs lie in the store as they were written."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.terms.wording import count, sentence_case


def store_gate(analysis: Analysis) -> Iterable[Gate]:
    """Where runs were set aside."""
    damages = analysis.material.damages
    if damages:
        text = f"{count(len(damages))} set aside, not as written: {'; '.join(damages)}."
        yield Gate("Store", "failed", sentence_case(text))


GATE = Judge(20, store_gate)
