"""How many statements failed."""

from __future__ import annotations

from dbdyno.model.limits import MOST_ERRORS, attempted
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, Judge, all_blocks
from dbdyno.report.material.faults import tried_word
from dbdyno.report.terms.wording import count, percent


def _errors(analysis: Analysis) -> Gate:
    blocks = all_blocks(analysis)
    errors = sum(figures.summary.errors for figures in blocks)
    tried = sum(attempted(figures.summary) for figures in blocks)
    what = " and ".join(dict.fromkeys(tried_word(figures.summary.generator) for figures in blocks))
    if tried == 0:
        return Gate("Errors", "failed", "Nothing was run.")
    state: GateState = "ok" if errors <= MOST_ERRORS * tried else "failed"
    if errors == 0:
        return Gate("Errors", "ok", f"None in {count(tried)} {what}.")
    told = f"{count(errors)} of {count(tried)} {what} failed ({percent(errors / tried)})"
    return Gate("Errors", state, f"{told}; {percent(MOST_ERRORS)} is tolerated.")


GATE = Judge(80, _errors, needs="errors", keeps_failed=True)
