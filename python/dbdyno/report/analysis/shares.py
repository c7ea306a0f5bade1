"""Shares of a point, and how two of them compare: over all trials, or over blocks."""

from collections.abc import Mapping

from dbdyno.model import find_figure
from dbdyno.report.analysis.points import Point
from dbdyno.report.analysis.reasons import too_few_blocks
from dbdyno.stats import NotComparable, Share, ShareEffect, share_effect_of_blocks


def share_of(point: Point, metric: str) -> Share | None:
    """A share over all blocks that enter verdicts; `None` without a trial."""
    shares = _by_block(point, metric).values()
    trials = sum(share.trials for share in shares)
    return Share(sum(share.found for share in shares), trials) if trials else None


def share_effect(point: Point, baseline: Point, metric: str) -> ShareEffect | NotComparable:
    """A point's share against its baseline's. Independent trials of all valid blocks are one
    sample; what depends on one another is compared block by block."""
    ours, theirs = _by_block(point, metric), _by_block(baseline, metric)
    if not find_figure(metric).of_trials:
        blocks = sorted(ours.keys() & theirs.keys())
        few = too_few_blocks(point, baseline, metric)
        sides = ([side[block] for block in blocks] for side in (theirs, ours))
        return few or share_effect_of_blocks(*sides)
    candidate, against = share_of(point, metric), share_of(baseline, metric)
    if candidate is None or against is None:
        return too_few_blocks(point, baseline, metric) or NotComparable("a side has no trial")
    return ShareEffect(against, candidate, len(ours))


def _by_block(point: Point, metric: str) -> Mapping[int, Share]:
    """Of the blocks that enter verdicts and have any trial."""
    figure, values = find_figure(metric), point.judged(metric)
    count = figure.tries or (lambda summary: summary.events)
    trials = {figures.block: count(figures.summary) for figures in point.counted}
    return {
        block: Share(round(value * trials[block]), trials[block])
        for block, value in values.items()
        if trials[block]
    }
