"""Statistics of the lab: pure functions on arrays and histograms.

Nothing here reads a file, a clock or a study. A statistic that can't be computed is the value
`NotComparable(reason)`, which reports print; it is never an exception and never a verdict.
METHODOLOGY.md explains the choices.
"""

from dbdyno.stats.changes import Change, History, history, least_points
from dbdyno.stats.course import rate_cv, rate_held
from dbdyno.stats.histogram import (
    Distribution,
    mean,
    merge_histograms,
    percentile,
    percentiles,
    summarise,
)
from dbdyno.stats.moving import moving_mean
from dbdyno.stats.multiple import benjamini_hochberg
from dbdyno.stats.paired import (
    NotComparable,
    PairedEffect,
    Within,
    effect_of,
    log_ratios,
    paired_effect,
    tost_p,
)
from dbdyno.stats.power import (
    MOST_BLOCKS,
    Advice,
    advise,
    blocks_needed,
    detectable,
    power,
    would_be_found,
)
from dbdyno.stats.scaling import Curve, Scaling, scaling
from dbdyno.stats.shares import Share, ShareEffect
from dbdyno.stats.shares_of_blocks import BlockShareEffect, share_effect_of_blocks
from dbdyno.stats.spread import (
    Estimate,
    MedianInterval,
    Spread,
    arithmetic_mean,
    estimate,
    median_interval,
    spread,
)
from dbdyno.stats.stability import Dip, Loss, Stability, StabilityWord, loss, stability
from dbdyno.stats.steady import Mser5, Period, Settling, mser5, period, settling, trend
from dbdyno.stats.stopping import is_precise, widened
from dbdyno.stats.turns import Pairs, TurnsEffect, changed, stolen, turns_effect, turns_of_blocks
from dbdyno.stats.unpaired import unpaired_effect
from dbdyno.stats.verdict import Judgement, Size, Verdict, judge, judge_family, judge_shares

__all__ = [
    "MOST_BLOCKS",
    "Advice",
    "BlockShareEffect",
    "Change",
    "Curve",
    "Dip",
    "Distribution",
    "Estimate",
    "History",
    "Judgement",
    "Loss",
    "MedianInterval",
    "Mser5",
    "NotComparable",
    "PairedEffect",
    "Pairs",
    "Period",
    "Scaling",
    "Settling",
    "Share",
    "ShareEffect",
    "Size",
    "Spread",
    "Stability",
    "StabilityWord",
    "TurnsEffect",
    "Verdict",
    "Within",
    "advise",
    "arithmetic_mean",
    "benjamini_hochberg",
    "blocks_needed",
    "changed",
    "detectable",
    "effect_of",
    "estimate",
    "history",
    "is_precise",
    "judge",
    "judge_family",
    "judge_shares",
    "least_points",
    "log_ratios",
    "loss",
    "mean",
    "median_interval",
    "merge_histograms",
    "moving_mean",
    "mser5",
    "paired_effect",
    "percentile",
    "percentiles",
    "period",
    "power",
    "rate_cv",
    "rate_held",
    "scaling",
    "settling",
    "share_effect_of_blocks",
    "spread",
    "stability",
    "stolen",
    "summarise",
    "tost_p",
    "trend",
    "turns_effect",
    "turns_of_blocks",
    "unpaired_effect",
    "widened",
    "would_be_found",
]
