"""Whether a study that may stop early has enough blocks, and the gate that says so."""

from __future__ import annotations

from dbdyno import stats
from dbdyno.report.analyse import Analysis, analyse
from dbdyno.report.gate import Gate
from dbdyno.report.gather import gather
from dbdyno.report.wording import percent
from dbdyno.stats import NotComparable, PairedEffect
from dbdyno.stats.stopping import WIDER
from dbdyno.store import Store


def is_precise(store: Store, name: str) -> bool:
    """Whether every interval of the primary family is as narrow as the stored study asks. A study
    without such a rule never is. Raises `StoreError`."""
    analysis = analyse(gather(store.root, name))
    half_width = analysis.material.study.design.stop_half_width
    if half_width is None:
        return False
    effects = [comparison.judgement.effect for comparison in analysis.comparisons]
    return stats.is_precise(
        [one for one in effects if isinstance(one, (PairedEffect, NotComparable))], half_width
    )


def width_gate(analysis: Analysis, least: int, half_width: float) -> Gate:
    """Of a study that may stop early: whether it had reached what it was to stop at."""
    effects = [one.judgement.effect for one in analysis.comparisons]
    widths = [one.half_width for one in effects if isinstance(one, PairedEffect)]
    wanted = f"±{percent(half_width)}, where the study was to stop"
    if len(widths) == len(effects) and widths and max(widths) <= half_width:
        told = (
            f"{least} blocks: every interval is within {wanted}. Standard errors are "
            f"{percent(WIDER - 1)} larger than the blocks give, since the study may stop early."
        )
        return Gate("Blocks", "ok", told)
    reached = f"; the widest is ±{percent(max(widths))}" if widths else ""
    return Gate("Blocks", "doubtful", f"{least} blocks did not reach {wanted}{reached}.")
