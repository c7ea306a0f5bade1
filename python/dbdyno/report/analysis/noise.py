"""The noise of this machine for a workload, and the effects that studies of some length can
detect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import NotValidError
from dbdyno.model import Design
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.stats import PairedEffect
from dbdyno.stats.power import smallest_effect

LEAST_BLOCKS = 2
LEAST_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Noise:
    """What came of one cell driven against itself in turns. Logarithms throughout."""

    effect: PairedEffect
    """Of no difference at all."""
    pairs: int
    """Pairs of turns in a block, those included that were set aside."""
    within_sd: float
    """Between the pairs of one block."""
    between_sd: float
    """Between blocks, beside what their turns explain."""
    set_up_s: float
    """Of a block: everything but its turns."""
    turn_s: float
    """Of one turn, lead-in included."""

    def smallest_effect(self, minutes: float, *, measure_s: float, turn_s: float) -> float | None:
        """The relative effect between two cells that so long a study finds with a chance of 80 %.

        Its blocks measure `measure_s` of each cell in turns of `turn_s`. `None`: too short for two
        blocks.
        """
        pairs = max(1, round(measure_s / turn_s))
        blocks = int(minutes * 60 // (self.set_up_s + 2 * pairs * self.turn_s))
        if blocks < LEAST_BLOCKS:
            return None
        return smallest_effect(self.within_sd, self.between_sd, pairs=pairs, blocks=blocks)


def noise_of(store: Path, study: str, design: Design) -> Noise:
    """From a calibration's runs. Raises `NotValidError` where they allow no estimate."""
    analysis = analyse(gather(store, study))
    (comparison,) = analysis.comparisons or (None,)
    effect = comparison.judgement.effect if comparison else None
    aside = comparison.set_aside if comparison else ()
    why = f" (pairs of turns set aside: {len(aside)}, the first in {aside[0]})" if aside else ""
    hint = "a longer --time has more" + (", a machine at rest sets fewer aside" if aside else "")
    if comparison is None or comparison.turns is None or not isinstance(effect, PairedEffect):
        reason = getattr(effect, "reason", "no block has turns of both arms")
        if aside:
            reason = reason.removesuffix(f"; {len(aside)} were set aside ({aside[0]})")
            why = "" if reason.endswith(f"set aside ({aside[0]})") else why
        raise NotValidError(f"the noise can't be told: {reason}{why}", hint=hint)
    if max(comparison.turns.turns) < LEAST_PAIRS:
        raise NotValidError(
            f"the noise can't be told: no block has two pairs of turns that count{why}", hint=hint
        )
    pairs = min(len(run.turns) for run in analysis.material.runs)
    turn_s = design.turn_s + design.lead_in_s
    spans: dict[int, list[float]] = {}
    for run in analysis.material.runs:
        times = (run.manifest.started_unix_s, run.manifest.ended_unix_s)
        spans.setdefault(run.manifest.block, []).extend(times)
    longest = max(max(times) - min(times) for times in spans.values())
    return Noise(
        effect=effect,
        pairs=pairs,
        within_sd=comparison.turns.within_sd,
        between_sd=comparison.turns.between_sd,
        set_up_s=max(0.0, longest - 2 * pairs * turn_s),
        turn_s=turn_s,
    )
