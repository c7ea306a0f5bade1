"""Whether a study that may stop early has enough blocks."""

from __future__ import annotations

from dbdyno import stats
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.stats import NotComparable, PairedEffect
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
        [effect for effect in effects if isinstance(effect, (PairedEffect, NotComparable))],
        half_width,
    )
