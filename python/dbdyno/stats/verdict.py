"""From an effect and the smallest effect that matters to a verdict in one word."""

import math
from dataclasses import dataclass
from enum import StrEnum

from dbdyno.stats.paired import NotComparable, PairedEffect, blocks_needed


class Verdict(StrEnum):
    """What the blocks say about the candidate against its baseline."""

    BETTER = "better"
    WORSE = "worse"
    SMALL = "changed, but small"
    EQUIVALENT = "equivalent"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on."""

    verdict: Verdict
    effect: PairedEffect | NotComparable
    smallest_effect: float
    """Relative: 0.02 is 2 %."""
    more_blocks: int | None
    """About how many further blocks would settle it; `None` unless it can't be told yet."""


def judge(
    effect: PairedEffect | NotComparable, *, smallest_effect: float, higher_is_better: bool
) -> Judgement:
    """Four verdicts, and "cannot tell" with the number of blocks still needed.

    With δ = ln(1 + smallest_effect):
    better or worse: the 95 % interval excludes no change and |θ| ≥ δ;
    changed, but small: the 95 % interval excludes no change, the 90 % interval lies inside ±δ;
    equivalent: the 90 % interval lies inside ±δ (two one-sided tests at 5 %);
    cannot tell: anything else.
    """
    if smallest_effect <= 0:
        raise ValueError(f"smallest_effect must be above 0, got {smallest_effect}")
    margin = math.log1p(smallest_effect)
    if isinstance(effect, NotComparable):
        return Judgement(Verdict.CANNOT_TELL, effect, smallest_effect, None)
    changed = effect.low95 > 0 or effect.high95 < 0
    inside = -margin < effect.low90 and effect.high90 < margin
    if changed and abs(effect.log_effect) >= margin:
        good = (effect.log_effect > 0) == higher_is_better
        verdict = Verdict.BETTER if good else Verdict.WORSE
    elif changed and inside:
        verdict = Verdict.SMALL
    elif inside:
        verdict = Verdict.EQUIVALENT
    else:
        more = max(1, blocks_needed(effect.log_sd, margin) - effect.blocks)
        return Judgement(Verdict.CANNOT_TELL, effect, smallest_effect, more)
    return Judgement(verdict, effect, smallest_effect, None)
