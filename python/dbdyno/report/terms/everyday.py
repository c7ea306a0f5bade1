"""Figures and ratios in everyday words: `about 80 times as many (23 to 280)`.

A ratio of two or more, or of a half or less, is in times (`3.1 times as many`, `3.1 times fewer`);
others are in per cent. Its interval has the same unit. No word here needs the glossary.
"""

from __future__ import annotations

import re

from dbdyno.model import FIGURES, Figure
from dbdyno.report.terms.wording import FAR, WIDE, number

FACTOR = 2.0
"""A ratio from here on, or up to its inverse, is in times; between them it is in per cent."""

ABOUT = 10.0
"""So many times, and more, have "about" before them."""

NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip

_SPACE = "\u202f"

_SPENT = FIGURES["spent_s"].words


def counted(number_of: int, noun: str) -> str:
    """`one repeat`, `three repeats`, `20 repeats`."""
    return f"{number_word(number_of)} {noun}{'' if number_of == 1 else 's'}"


def number_word(number_of: int) -> str:
    """In words up to twelve: `three`, `20`."""
    return NUMBERS[number_of] if number_of < len(NUMBERS) else str(number_of)


def amount(value: float, unit: str) -> str:
    """A figure with its unit: times in µs get the unit that suits them, `/s` becomes `a second`."""
    if unit == "µs" and value >= 1e6:
        return f"{number(value / 1e6)} s"
    if unit == "µs" and value >= 1e3:
        return f"{number(value / 1e3)} ms"
    if unit.endswith("/s"):
        return f"{number(value)} {unit.removesuffix('/s')} a second".replace("  ", " ")
    return f"{number(value)} {unit}".rstrip()


def amounts(ours: float, theirs: float, unit: str) -> tuple[str, str]:
    """Two figures with their unit; only of times, which may differ in it, the second has it too."""
    return amount(ours, unit), amount(theirs, unit) if unit == "µs" else number(theirs)


def figure_name(figure: Figure) -> str:
    """A figure within a sentence, its rank first: `p99 response time` for "Response time, p99"."""
    words, _, rank = figure.words.partition(", ")
    if not rank:
        return words
    if re.match(r"p\d|max|mean", rank):
        rank, _, label = rank.partition(", ")
        return f"{rank} {words}" + (f" of {label}" if label else "")
    if words != _SPENT:
        return f"{words} of {rank}"
    several = rank.endswith("…")
    return f"time spent on all {rank[:-1].strip()} events" if several else f"time spent on {rank}"


def size_words(ratio: float, low: float, high: float, *, many: bool) -> str:
    """A ratio with its interval, whose direction is known; `many`: of what is counted (`fewer`),
    not of an amount (`lower`)."""
    about = "about " if max(ratio, 1 / ratio) >= ABOUT else ""
    return f"{about}{brief_size(ratio, many=many)} ({_reach(ratio, low, high)})"


def _reach(ratio: float, low: float, high: float) -> str:
    """The interval of a ratio, in the unit and direction of the ratio."""
    if ratio >= FACTOR or ratio <= 1 / FACTOR:
        ends = (low, high) if ratio >= FACTOR else (1 / high, 1 / low)
        return f"{_end(ends[0])} to {_end(ends[1])}"
    low_part, high_part = (100 * (end - 1) for end in (low, high))
    if (low_part < 0) != (high_part < 0):
        return f"{signed(low)} to {signed(high)}"
    ends_abs = sorted((abs(low_part), abs(high_part)))
    return f"{_two(ends_abs[0])} to {_percent(ends_abs[1])}"


def brief_size(ratio: float, *, many: bool) -> str:
    """A ratio without its interval: `7.1 times as many`, `12 % fewer`, `5.0 times lower`."""
    if ratio >= FACTOR or ratio <= 1 / FACTOR:
        return _times(ratio, many=many)
    return f"{_percent(100 * abs(ratio - 1))} {more_word(ratio > 1, many=many)}"


def brief_range(ratio: float, low: float, high: float, *, many: bool) -> str:
    """A ratio with its interval where little room is: `7.1 times, 5.0 to 10`, `12 % fewer, 8.0 to
    16 %`."""
    size = brief_size(ratio, many=many).removesuffix(f" as {'many' if many else 'high'}")
    return f"{size}, {_reach(ratio, low, high)}"


def _times(ratio: float, *, many: bool) -> str:
    """A ratio of two or more, or of a half or less."""
    if ratio >= FACTOR:
        return f"{_two(ratio)} times as {'many' if many else 'high'}"
    return f"{_two(1 / ratio)} times {more_word(False, many=many)}"


def open_words(low: float, high: float, *, many: bool) -> str:
    """The interval of a ratio whose direction is open."""
    if low < 1 / WIDE and high > WIDE:
        return "with noise of more than a factor of ten"
    if high >= FACTOR or low <= 1 / FACTOR:
        return f"anything from {_end(low)} to {_end(high)} times as {'many' if many else 'high'}"
    ends = [
        f"{_percent(100 * abs(end - 1))} {more_word(end > 1, many=many)}" for end in (low, high)
    ]
    return f"anything from {ends[0]} to {ends[1]}"


def open_range(low: float, high: float) -> str:
    """The same where little room is: `0.31 to 3.4 times`, `−25 % to +40 %`."""
    if low < 1 / WIDE and high > WIDE:
        return "noise of more than a factor of ten"
    if high >= FACTOR or low <= 1 / FACTOR:
        return f"{_end(low)} to {_end(high)} times"
    return f"{signed(low)} to {signed(high)}"


def more_word(more: bool, *, many: bool) -> str:
    """`more` or `fewer` of what is counted; `higher` or `lower` of an amount."""
    if many:
        return "more" if more else "fewer"
    return "higher" if more else "lower"


def signed(ratio: float) -> str:
    """A ratio near one as a signed change: `−0.4 %`."""
    change = 100 * (ratio - 1)
    return f"{'+' if change > 0 else '−' if change < 0 else '±'}{_percent(abs(change))}"


def _percent(value: float) -> str:
    return f"{_two(value)}{_SPACE}%"


def _end(value: float) -> str:
    """An end of an interval of factors."""
    if value > FAR:
        return f"over {number(FAR, 1)}"
    return f"under {1 / FAR:g}" if value < 1 / FAR else _two(value)


def _two(value: float) -> str:
    """Two significant digits; 9.96 is 10, not 10.0."""
    return number(float(f"{value:.2g}"), 2)
