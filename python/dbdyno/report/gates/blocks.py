"""Whether there are enough blocks for intervals."""

from __future__ import annotations

from dbdyno.formats.stored_study import ONE_CALL
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge, fewest_blocks
from dbdyno.report.terms.wording import percent
from dbdyno.stats import PairedEffect
from dbdyno.stats.stopping import WIDER

BLOCKS_FOR_INTERVAL, BLOCKS_FOR_MEDIAN = 2, 6

FAIR_TRIALS = 20


def _blocks(analysis: Analysis) -> Gate:
    if analysis.metric.of_trials:
        return _trials(analysis)
    least = fewest_blocks(analysis)
    if least == 1 and one_set_up(analysis):
        text = "1 block, driven in turns: what is found holds for its one set-up."
        return Gate("Blocks", "doubtful", text)
    if least == 1 and not analysis.comparisons:
        text = "1 repeat: how far another would differ is open."
        if analysis.material.study.text.startswith(ONE_CALL):
            text += " `dbdyno bench --repeat 5` shows it, and gives `dbdyno compare` enough runs."
        return Gate("Blocks", "doubtful", text)
    if least < BLOCKS_FOR_INTERVAL:
        text = f"{least} block{'' if least == 1 else 's'} in some cell: no interval can be given."
        return Gate("Blocks", "failed", text)
    if (stop := analysis.material.study.design.stop_half_width) is not None:
        return _width(analysis, least, stop)
    if least < BLOCKS_FOR_MEDIAN:
        text = f"{least} blocks: enough for large effects; the interval of a median needs 6."
        return Gate("Blocks", "doubtful", text)
    return Gate("Blocks", "ok", f"At least {least} blocks in every cell.")


def _trials(analysis: Analysis) -> Gate:
    """Of a share every trial counts, whatever its block."""
    counts = [sum(f.summary.events for f in point.counted) for point in analysis.points]
    least = min(counts, default=0)
    brief = f"{least} trials"
    text = f"{brief} in the cell that has the fewest"
    if least < FAIR_TRIALS:
        return Gate("Trials", "doubtful", f"{text}: intervals of shares are wide.", brief)
    return Gate("Trials", "ok", f"{text}; intervals are of shares, over all blocks.", brief)


def one_set_up(analysis: Analysis) -> bool:
    """Whether all comparisons have an interval from the turns of a single block."""
    found = analysis.comparisons
    return bool(found) and all(c.turns is not None and c.turns.one_set_up for c in found)


def _width(analysis: Analysis, least: int, half_width: float) -> Gate:
    """Of a study that may stop early: whether it had reached what it was to stop at."""
    effects = [comparison.judgement.effect for comparison in analysis.comparisons]
    widths = [effect.half_width for effect in effects if isinstance(effect, PairedEffect)]
    wanted = f"±{percent(half_width)}, where the study was to stop"
    if len(widths) == len(effects) and widths and max(widths) <= half_width:
        text = (
            f"{least} blocks: every interval is within {wanted}. Standard errors are "
            f"{percent(WIDER - 1)} larger than the blocks give, since the study may stop early."
        )
        return Gate("Blocks", "ok", text)
    reached = f"; the widest is ±{percent(max(widths))}" if widths else ""
    return Gate("Blocks", "doubtful", f"{least} blocks did not reach {wanted}{reached}.")


GATE = Judge(40, _blocks)
