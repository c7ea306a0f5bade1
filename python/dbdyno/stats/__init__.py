"""Statistics of the lab: pure functions on arrays and histograms.

Nothing here reads a file, a clock or a study. A statistic that can't be computed is the value
`NotComparable(reason)`, which reports print; it is never an exception and never a verdict.
METHODOLOGY.md explains the choices.
"""

from dbdyno.stats.histogram import (
    Distribution,
    mean,
    merge_histograms,
    percentile,
    percentiles,
    summarise,
)
from dbdyno.stats.multiple import benjamini_hochberg
from dbdyno.stats.paired import (
    Equivalence,
    NotComparable,
    PairedEffect,
    blocks_needed,
    log_ratios,
    paired_effect,
    sign_flip_p,
    tost_p,
)
from dbdyno.stats.spread import MedianInterval, Spread, median_interval, spread
from dbdyno.stats.stability import Event, Loss, Stability, StabilityWord, loss, stability
from dbdyno.stats.steady import Mser5, Period, mser5, period, trend
from dbdyno.stats.verdict import Judgement, Verdict, judge

__all__ = [
    "Distribution",
    "Equivalence",
    "Event",
    "Judgement",
    "Loss",
    "MedianInterval",
    "Mser5",
    "NotComparable",
    "PairedEffect",
    "Period",
    "Spread",
    "Stability",
    "StabilityWord",
    "Verdict",
    "benjamini_hochberg",
    "blocks_needed",
    "judge",
    "log_ratios",
    "loss",
    "mean",
    "median_interval",
    "merge_histograms",
    "mser5",
    "paired_effect",
    "percentile",
    "percentiles",
    "period",
    "sign_flip_p",
    "spread",
    "stability",
    "summarise",
    "tost_p",
    "trend",
]
