"""Whether a difference is found where there is none: one cell under two names."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.sentences import effect_text, where
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.stats import NotComparable, Verdict


def _against_itself(analysis: Analysis) -> Iterable[Gate]:
    """One cell under two names: a difference can only be the machine's or the method's."""
    found = analysis.against_itself
    if not found:
        return
    text = "; ".join(
        f"{where(comparison.point, analysis)}: {effect_text(comparison)}" for comparison in found
    )
    text = f"`{found[0].baseline.label}` against itself, {text}."
    verdicts = {comparison.judgement.verdict for comparison in found}
    if verdicts & {Verdict.BETTER, Verdict.WORSE}:
        text += " The two are the same: effects of this size say nothing here."
        yield Gate("A/A", "doubtful", text)
    elif all(isinstance(comparison.judgement.effect, NotComparable) for comparison in found):
        yield Gate("A/A", "not judged", text)
    else:
        yield Gate("A/A", "ok", f"{text} No difference is found where there is none.")


GATE = Judge(60, _against_itself)
