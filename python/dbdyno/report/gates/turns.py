"""What became of the turns."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.terms.wording import count

MOST_SET_ASIDE = 0.2
"""Share of the turns beyond which the rest is no fair sample of the block."""


def _turns(analysis: Analysis) -> Iterable[Gate]:
    """What became of the turns; no gate where there are none."""
    found = [c for c in analysis.comparisons if c.turns is not None or c.set_aside]
    if not found:
        return
    kept = sum(sum(c.turns.turns) for c in found if c.turns is not None)
    aside = dict.fromkeys(reason for c in found for reason in c.set_aside)
    lost = sum(len(c.set_aside) for c in found)
    share = lost / (lost + kept) if lost + kept else 0.0
    text = f"{count(kept)} pairs of neighbouring turns were compared"
    if aside:
        text += f"; {count(lost)} were set aside by the rule fixed beforehand: {next(iter(aside))}"
        text += f" and {len(aside) - 1} more" if len(aside) > 1 else ""
        if share > MOST_SET_ASIDE:
            text += " (the least disturbed quarter of each block's pairs stays up to 25\u202f%)"
    adjusted = [c for c in found if c.turns is not None and c.turns.elasticity is not None]
    if adjusted:
        text += f"; {count(len(adjusted))} of {count(len(found))} comparisons are adjusted for"
        text += " the processors' speed during each turn"
    if analysis.material.study.design.freeze:
        text += "; servers were stopped while it was not their turn, so what they do in the "
        text += "background (checkpoints, purge, vacuum) was done in their own turns or not at all"
    yield Gate("Turns", "ok" if share <= MOST_SET_ASIDE else "doubtful", f"{text}.")


GATE = Judge(70, _turns)
