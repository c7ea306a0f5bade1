"""Figures and verdicts as people read them: units, uncertainty, plain words."""

import math

from dbdyno.report.analyse import Analysis, Comparison, Point
from dbdyno.report.declared import is_exploratory
from dbdyno.stats import MOST_BLOCKS, Advice, NotComparable, Spread, StabilityWord, Verdict

MISSING = "–"

WIDE = 10.0
"""An interval that reaches beyond ten times or a tenth says no more than that."""


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits and thin groups of thousands: `12 300`, `0.0452`, `1.20`."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{shown:,.{min(places, 6)}f}".replace(",", "\u202f")


def count(value: float) -> str:
    """All digits, in thin groups."""
    return f"{value:,.0f}".replace(",", "\u202f")


def rows_text(rows: int | None) -> str:
    """How many rows a table has: 1 row, 1,000 rows."""
    return f"{count(rows or 0)} row{'' if rows == 1 else 's'}"


def percent(fraction: float, digits: int = 2) -> str:
    """A fraction as `2.3 %`."""
    return f"{number(100 * fraction, digits)}\u202f%"


def sentence_case(text: str) -> str:
    """With a capital at its beginning; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def time_unit(times_ns: list[float]) -> tuple[str, float]:
    """Unit and nanoseconds a unit that suit all of a column's times."""
    usual = sorted(t for t in times_ns if t > 0)
    middle = usual[len(usual) // 2] if usual else 1e6
    if middle >= 1e9:
        return "s", 1e9
    if middle >= 1e6:
        return "ms", 1e6
    return "µs", 1e3


def quantity(value: float | None, unit: str) -> str:
    """A figure with its unit; microseconds become milliseconds where that reads better."""
    if value is None:
        return MISSING
    if unit == "µs" and value >= 1000:
        return f"{number(value / 1000)} ms"
    return f"{number(value)} {unit}"


def spread_text(found: Spread | None, unit: str) -> str:
    """Median and range over the blocks, in a sentence."""
    if found is None:
        return MISSING
    if found.blocks == 1:
        return f"{quantity(found.median, unit)} (one block: no interval can be given)"
    low, high = quantity(found.low, unit), quantity(found.high, unit)
    return f"{quantity(found.median, unit)} (blocks: {low} to {high})"


def ratio(value: float) -> str:
    """A ratio as a change in percent, or as a multiple where that reads better."""
    if value >= 2:
        return f"×{number(value)}"
    if value <= 0.5:
        return f"×{number(value)}"
    change = 100 * (value - 1)
    if abs(change) < 0.05:
        return "±0.0\u202f%"
    return f"{'+' if change > 0 else '−'}{abs(change):.1f}\u202f%"


def interval(low: float, high: float) -> str:
    """A ratio's interval, cut where its ends are too far out to mean anything."""
    if low < 1 / WIDE and high > WIDE:
        return "from below a tenth to above ten times: no answer"
    below = f"below ×{number(1 / WIDE)}" if low < 1 / WIDE else ratio(low)
    above = f"above ×{number(WIDE)}" if high > WIDE else ratio(high)
    return f"{below} to {above}"


def advice_text(advice: Advice | None) -> str | None:
    """How many more blocks, as a range of whole numbers."""
    if advice is None:
        return None
    if advice.fewest is None:
        return f"more than {MOST_BLOCKS}"
    if advice.most is None:
        return f"{advice.fewest} to more than {MOST_BLOCKS}"
    if advice.fewest == advice.most:
        return f"about {advice.fewest}"
    return f"{advice.fewest} to {advice.most}"


def verdict_word(verdict: Verdict, name: str) -> str:
    """The verdict in the metric's own words."""
    if verdict is Verdict.BETTER:
        return "faster" if name in ("throughput", "statements_per_s") else "better (lower)"
    if verdict is Verdict.WORSE:
        return "slower" if name in ("throughput", "statements_per_s") else "worse (higher)"
    return verdict.value


def where(point: Point, analysis: Analysis) -> str:
    """A point's name: its cell, and the load where there are several."""
    if len(analysis.clients) == 1:
        return point.label
    return f"{point.label} · {point.clients}\u00a0client{'s' if point.clients > 1 else ''}"


def effect_text(comparison: Comparison) -> str:
    """Effect, interval and blocks, or why there is none."""
    effect = comparison.judgement.effect
    if isinstance(effect, NotComparable):
        return effect.reason
    low, high = effect.ratio_interval
    return (
        f"{ratio(effect.ratio)} (95\u202f% interval {interval(low, high)}; {effect.blocks} blocks)"
    )


def evenness(point: Point) -> str:
    """The stability words as part of a sentence."""
    words = point.stability_words
    return "evenness not judged" if words == StabilityWord.UNKNOWN else words


def sentence(comparison: Comparison, analysis: Analysis) -> str:
    """One verdict, whole: what, against what, how much, how sure, how even."""
    word = verdict_word(comparison.judgement.verdict, analysis.metric_name)
    against = comparison.baseline.label
    text = (
        f"{where(comparison.point, analysis)} against {against}: {word}, "
        f"{analysis.metric.title.lower()} {effect_text(comparison)}; "
        f"{evenness(comparison.point)}."
    )
    return text + outlook(comparison.judgement.advice)


def outlook(advice: Advice | None) -> str:
    """What further blocks would bring, as a sentence; empty where nothing is open."""
    if advice is None:
        return ""
    if advice.fewest is None:
        return (
            f" This machine can't tell less than {percent(advice.limit)} here: even {MOST_BLOCKS} "
            "more blocks would hardly settle it."
        )
    plural = "" if (advice.fewest, advice.most) == (1, 1) else "s"
    return f" {sentence_case(advice_text(advice) or '')} more block{plural} would settle it."


def headline(analysis: Analysis) -> str:
    """The answer in one or two sentences, with what was decided after the data said first."""
    explored = is_exploratory(analysis.material.changes)
    return f"{'Exploratory, chosen after the data: ' if explored else ''}{_answer(analysis)}"


def _answer(analysis: Analysis) -> str:
    counted = sum(len(point.counted) for point in analysis.points)
    if counted == 0:
        return "No run is complete, so the question stays open."
    if not analysis.comparisons:
        return _ranking(analysis)
    if len(analysis.comparisons) == 1:
        return sentence(analysis.comparisons[0], analysis)
    total = len(analysis.comparisons)
    by_verdict: dict[str, int] = {}
    for comparison in analysis.comparisons:
        word = verdict_word(comparison.judgement.verdict, analysis.metric_name)
        by_verdict[word] = by_verdict.get(word, 0) + 1
    tally = ", ".join(f"{word} in {n}" for word, n in by_verdict.items())
    told = f"Of {total} comparisons with the baseline: {tally}."
    largest = _largest(analysis)
    if largest is not None:
        told += f" The largest effect: {sentence(largest, analysis)}"
    return told


def _largest(analysis: Analysis) -> Comparison | None:
    def size(comparison: Comparison) -> float:
        effect = comparison.judgement.effect
        told = comparison.judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
        return abs(effect.log_effect) if told and not isinstance(effect, NotComparable) else 0.0

    best = max(analysis.comparisons, key=size)
    return best if size(best) > 0 else None


def _ranking(analysis: Analysis) -> str:
    metric = analysis.metric
    measured = [
        (found.median, point, found)
        for point in analysis.points
        if (found := point.spread(analysis.metric_name)) is not None
    ]
    if not measured:
        return "No run measured the figure this study asks for."
    choose = max if metric.higher_is_better else min
    _, point, found = choose(measured, key=lambda entry: entry[0])
    word = "highest" if metric.higher_is_better else "lowest"
    text = f"{metric.title}: {spread_text(found, metric.unit)}, {evenness(point)}"
    if len(measured) > 1:
        text = (
            f"The {word} {metric.title.lower()} was that of {where(point, analysis)}: "
            f"{spread_text(found, metric.unit)}, {evenness(point)}"
        )
    if analysis.material.study.design.baseline:
        return f"{text}. Nothing was measured at the same load to compare, so there is no verdict."
    return f"{text}. The study names no baseline, so there is no verdict."
