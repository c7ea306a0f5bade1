"""Figures and verdicts as people read them: units, uncertainty, plain words."""

import math
from collections.abc import Sequence

from dbdyno.model import Figure
from dbdyno.stats import (
    MOST_BLOCKS,
    Advice,
    Judgement,
    NotComparable,
    PairedEffect,
    ShareEffect,
    Size,
    Spread,
    Verdict,
)

MISSING = "–"

WIDE = 10.0
"""An interval from below a tenth to above ten times is no answer."""

FAR = 1000.0
"""An end of an interval beyond this factor, or below its inverse, is cut to it."""


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


def enumerated(words: Sequence[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


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
    if _is_multiple(value):
        return f"×{number(value)}"
    change = 100 * (value - 1)
    if abs(change) < 0.05:
        return "±0.0\u202f%"
    return f"{'+' if change > 0 else '−'}{abs(change):.1f}\u202f%"


def _is_multiple(value: float) -> bool:
    """Whether to print a multiple rather than percent: half or less, double or more."""
    return value <= 0.5 or value >= 2


def share_text(value: float) -> str:
    """A share in whole percent."""
    return f"{100 * value:.0f}\u202f%"


def points_text(value: float) -> str:
    """A difference of shares, in percentage points."""
    points = round(100 * value)
    return f"{'+' if points > 0 else '−' if points < 0 else '±'}{abs(points)}\u202fpoints"


def shares_text(effect: ShareEffect) -> str:
    """Both shares as counted, their difference and its interval."""
    ours, theirs = effect.candidate, effect.baseline
    difference, sure = effect_words(effect)
    return (
        f"{ours.found} of {ours.trials} against {theirs.found} of {theirs.trials}, "
        f"{difference} (95\u202f% interval {sure})"
    )


def ratio_ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of a ratio's interval in the same way."""
    if _is_multiple(low) or _is_multiple(high):
        return f"×{number(low)}", f"×{number(high)}"
    return ratio(low), ratio(high)


def interval(low: float, high: float) -> str:
    """A ratio's interval; ends that are too far out to mean anything are cut."""
    if low < 1 / WIDE and high > WIDE:
        return "from below a tenth to above ten times: no answer"
    ends = ratio_ends(low, high)
    below = f"below ×{number(1 / FAR)}" if low < 1 / FAR else ends[0]
    above = f"above ×{number(FAR, 1)}" if high > FAR else ends[1]
    return f"{below} to {above}"


def ratio_beside(value: float, low: float, high: float) -> str:
    """A ratio in the unit of its interval: a multiple where one of its ends is."""
    multiple = _is_multiple(low) or _is_multiple(high)
    return f"×{number(value)}" if multiple else ratio(value)


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


def verdict_word(verdict: Verdict, metric: Figure) -> str:
    """The verdict in the metric's own words."""
    if verdict is Verdict.BETTER:
        return "faster" if metric.rate else "better (lower)"
    if verdict is Verdict.WORSE:
        return "slower" if metric.rate else "worse (higher)"
    return verdict.value


def clients_text(clients: int) -> str:
    """A load in words: 1 client, 16 clients."""
    return f"{clients}\u00a0client{'s' if clients > 1 else ''}"


def judged_text(judgement: Judgement, figure: Figure) -> str:
    """A judgement by itself: word, effect, interval, what is open."""
    effect = judgement.effect
    if isinstance(effect, NotComparable):
        return f"cannot tell: {effect.reason}."
    word = verdict_word(judgement.verdict, figure)
    if isinstance(effect, ShareEffect):
        return f"{word}, {figure.words} {shares_text(effect)}." + size_text(judgement)
    low, high = effect.ratio_interval
    text = (
        f"{word}, {figure.words} {ratio_beside(effect.ratio, low, high)} "
        f"(95\u202f% interval {interval(low, high)}; {effect.method})."
    )
    return text + size_text(judgement) + outlook(judgement.advice)


def effect_words(effect: PairedEffect | ShareEffect) -> tuple[str, str]:
    """An effect and its 95 % interval: a ratio, or a difference of shares."""
    if isinstance(effect, ShareEffect):
        low, high = effect.interval()
        return points_text(effect.difference), f"{points_text(low)} to {points_text(high)}"
    low, high = effect.ratio_interval
    return ratio_beside(effect.ratio, low, high), interval(low, high)


def size_text(judgement: Judgement) -> str:
    """Whether a change matters, which its direction does not say."""
    if judgement.verdict not in (Verdict.BETTER, Verdict.WORSE):
        return ""
    matters = percent(judgement.smallest_effect)
    match judgement.size:
        case Size.ABOVE:
            return ""
        case Size.BELOW:
            return f" It is less than the {matters} that matter."
        case Size.OPEN:
            return f" Whether it is more than the {matters} that matter is open."


def outlook(advice: Advice | None) -> str:
    """What further blocks would bring, as a sentence; empty where nothing is open."""
    if advice is None:
        return ""
    if advice.fewest is None:
        return (
            f" This machine can't tell less than {percent(advice.limit)} here: even {MOST_BLOCKS} "
            "more blocks would hardly settle it."
        )
    if advice.most is None:
        return f" It needs at least {advice.fewest} more repeats, maybe over {MOST_BLOCKS}."
    plural = "" if (advice.fewest, advice.most) == (1, 1) else "s"
    return f" {sentence_case(advice_text(advice) or '')} more repeat{plural} would settle it."
