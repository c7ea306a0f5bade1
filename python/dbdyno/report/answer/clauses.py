"""One contrast, share or cell in a sentence that needs no glossary: figures first, then the ratio
with its interval."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.answer.contrast import Contrast, level_names, metric_words
from dbdyno.report.terms.everyday import (
    amount,
    amounts,
    brief_range,
    brief_size,
    counted,
    number_word,
    open_range,
    open_words,
    signed,
    size_words,
)
from dbdyno.report.terms.wording import clients_text, count, number, sentence_case
from dbdyno.stats import NotComparable, PairedEffect, ShareEffect, Verdict

OPEN, ALIKE = "can't tell", "no difference that matters"


def contrast_sentence(contrast: Contrast, analysis: Analysis) -> str:
    """The whole sentence."""
    effect = contrast.judgement.effect
    if isinstance(effect, NotComparable):
        return _without_effect(contrast, effect, analysis)
    if isinstance(effect, ShareEffect):
        return _of_shares(contrast, effect, analysis)
    return _of_ratio(contrast, effect, analysis)


def lead_wordings(contrast: Contrast, analysis: Analysis, *, is_first: bool) -> Iterator[str]:
    """The whole sentence of a contrast that a study asks for, and briefer ones: its figures with
    the ratio, the ratio with its interval, the ratio alone. The first one names figure and load."""
    yield contrast_sentence(contrast, analysis)
    effect, group = contrast.judgement.effect, verdict_words(contrast, analysis)
    name = contrast.name or contrast.candidate
    if is_first and (load := _at(contrast, analysis)):
        name = f"{name}, {load}"
    figures = _figures(contrast, analysis)
    if isinstance(effect, PairedEffect) and group not in (OPEN, ALIKE):
        many, alone = analysis.metric.rate, _not_alone(contrast)
        size = size_words(effect.ratio, *effect.ratio_interval, many=many)
        brief_words = brief_size(effect.ratio, many=many)
        # The size says which way, but not how sure; a rate's unit says what it is.
        says = "" if group == direction(contrast, analysis) else f"{group}, "
        what = says or (f"{group}, " if many else f"{metric_words(analysis)} " if is_first else "")
        if not _differs(contrast, effect):
            yield f"{name}: {says if many else what}{figures}, {size}{alone}."
        yield f"{name}: {what}{size}{alone}."
        yield f"{name}: {what}{brief_words}{alone}."
        return
    if isinstance(effect, PairedEffect):
        ends = effect.ratio_interval if group == OPEN else effect.ratio_interval90
        reach = open_range(*ends)
        if not contrast.alike and not _differs(contrast, effect):
            yield f"{name}: {group}, {figures} ({reach})."
        yield f"{name}: {group} ({reach})."
    size = brief_effect(contrast, analysis)
    yield f"{name}: {group}." if group in (OPEN, ALIKE) else f"{name}: {group}, {size}."


def brief(contrast: Contrast, analysis: Analysis, *, reach: bool) -> str:
    """A further contrast behind another, with or without its interval: `wal (7.1 times, 5.0 to
    10)`, `wal (7.1 times as many)`."""
    size = brief_effect(contrast, analysis, reach=reach)
    return f"{contrast.candidate} ({size})" if size else contrast.candidate


def brief_effect(contrast: Contrast, analysis: Analysis, *, reach: bool = False) -> str:
    """`7.1 times as many`, or the candidate's share; empty where they can't be compared."""
    effect = contrast.judgement.effect
    if isinstance(effect, PairedEffect) and reach:
        return brief_range(effect.ratio, *effect.ratio_interval, many=analysis.metric.rate)
    if isinstance(effect, PairedEffect):
        return brief_size(effect.ratio, many=analysis.metric.rate)
    if isinstance(effect, ShareEffect):
        return f"{number(100 * effect.candidate.value, 2)}\u202f%"
    return ""


def direction(contrast: Contrast, analysis: Analysis) -> str:
    """`faster`, `slower`, or of what is no rate `lower p99 response time`."""
    effect = contrast.judgement.effect
    up = isinstance(effect, PairedEffect) and effect.log_effect > 0
    if isinstance(effect, ShareEffect):
        up = effect.difference > 0
    if analysis.metric.rate and not analysis.metric.share:
        return "faster" if up == analysis.metric.higher_is_better else "slower"
    return f"{'higher' if up else 'lower'} {metric_words(analysis)}"


def verdict_words(contrast: Contrast, analysis: Analysis) -> str:
    """The verdict in words that candidates with the same one share."""
    match contrast.judgement.verdict:
        case Verdict.CANNOT_TELL:
            return OPEN
        case Verdict.EQUIVALENT:
            return ALIKE
        case Verdict.SUGGESTIVE if contrast.judgement.alone in (Verdict.BETTER, Verdict.WORSE):
            return f"probably {direction(contrast, analysis)}"
        case Verdict.SUGGESTIVE:
            return OPEN
        case Verdict.SMALL:
            return f"slightly {direction(contrast, analysis)}"
    return direction(contrast, analysis)


def _not_alone(contrast: Contrast) -> str:
    """That a mean of several comparisons has an answer which some of these have not."""
    unshown, every = contrast.unshown
    if not unshown or every == 1 or not contrast.judgement.verdict.definite:
        return ""
    number = number_word(every)
    if unshown == every:
        return f" on average; none of the {number} comparisons shows it alone"
    verb = "doesn't" if unshown == 1 else "don't"
    return f" on average; {number_word(unshown)} of the {number} comparisons {verb} show it alone"


def _at(contrast: Contrast, analysis: Analysis) -> str:
    """The load, where there are several."""
    return f"at {clients_text(contrast.clients)}" if len(analysis.clients) > 1 else ""


def _led(contrast: Contrast, analysis: Analysis, words: str) -> str:
    """Words behind the load, or behind the study's own name for the contrast."""
    load = _at(contrast, analysis)
    if contrast.name:
        return f"{contrast.name}{f', {load}' if load else ''}: {words.replace(': ', ', ', 1)}"
    return sentence_case(f"{load}, {words}" if load else words)


def _of_ratio(contrast: Contrast, effect: PairedEffect, analysis: Analysis) -> str:
    metric, verdict = analysis.metric, contrast.judgement.verdict
    many = metric.rate
    size = size_words(effect.ratio, *effect.ratio_interval, many=many)
    range_words = open_words(*effect.ratio_interval, many=many)
    figures = _figures(contrast, analysis)
    if _differs(contrast, effect):
        size = f"between undisturbed turns {size}"
        range_words = f"between undisturbed turns {range_words}"
    if verdict is Verdict.CANNOT_TELL:
        repeats = f" in {counted(effect.blocks, 'repeat')}"
        return _led(
            contrast, analysis, f"{_open(contrast, analysis)}: {figures}{repeats}, {range_words}."
        )
    if contrast.alike:
        likely = "" if verdict is Verdict.EQUIVALENT else "probably "
        matters = f"{100 * contrast.judgement.smallest_effect:g}\u202f%"
        between = "" if contrast.name else f" between {contrast.candidate} and {contrast.baseline}"
        low, high = (signed(end) for end in effect.ratio_interval90)
        return _led(
            contrast,
            analysis,
            f"{likely}no difference of {matters} or more{between}: {figures} ({low} to {high}).",
        )
    word = direction(contrast, analysis)
    if verdict is Verdict.SUGGESTIVE:
        word = f"probably {word}, but not proven,"
    if verdict is Verdict.SMALL:
        word = f"slightly {word}"
    subject = word.rstrip(",") if contrast.name else f"{word} with {contrast.candidate}"
    depends = ""
    if contrast.spread is not None:
        ends = [brief_size(ratio, many=many) for ratio in contrast.spread]
        depends = f"; {ends[0]} to {ends[1]} by the other settings"
    alone = _not_alone(contrast)
    return _led(contrast, analysis, f"{subject}: {figures}, {size}{alone}{depends}.")


def _differs(contrast: Contrast, effect: PairedEffect) -> bool:
    """Whether the ratio of the two figures is visibly not the effect's: turns were set aside, or
    the processors' speed changed between them."""
    if not contrast.by_turns or not contrast.ours or not contrast.theirs:
        return False
    away = abs(math.log(contrast.ours / contrast.theirs) - effect.log_effect)
    return away > max(0.02, 0.1 * abs(effect.log_effect))


def _open(contrast: Contrast, analysis: Analysis) -> str:
    """The question that stays open."""
    if contrast.name:
        return "can't tell"
    sides = f"{contrast.candidate} {{}} {contrast.baseline}"
    if analysis.metric.rate and not analysis.metric.share:
        return f"can't tell whether {sides.format('is faster or slower than')}"
    return f"can't tell whether {metric_words(analysis)} differs between {sides.format('and')}"


def _figures(contrast: Contrast, analysis: Analysis) -> str:
    """`34 700 events a second against 430 with delete`; where a side was not measured, the name of
    the figure."""
    if contrast.ours is None or contrast.theirs is None:
        return metric_words(analysis)
    ours, theirs = amounts(contrast.ours, contrast.theirs, _unit(analysis))
    is_open = contrast.judgement.verdict is Verdict.CANNOT_TELL
    whose = "" if contrast.name or is_open or contrast.alike else f" with {contrast.baseline}"
    # The unit of a rate says what it is; other figures are named unless the sentence does it.
    nameless = contrast.alike or (contrast.name and is_open)
    lead = f"{metric_words(analysis)} " if nameless and not analysis.metric.rate else ""
    return f"{lead}{ours} against {theirs}{whose}"


def _unit(analysis: Analysis) -> str:
    """The figure's unit; a bare rate is named by its words."""
    metric = analysis.metric
    if metric.unit == "/s":
        return f"{metric.words.removesuffix(' per second')}/s"
    return metric.unit


def _of_shares(contrast: Contrast, effect: ShareEffect, analysis: Analysis) -> str:
    ours, theirs = effect.candidate, effect.baseline
    low, high = (round(100 * end) for end in effect.interval())
    points = round(100 * effect.difference)
    whose = (
        ("", "") if contrast.name else (f" with {contrast.candidate}", f" with {contrast.baseline}")
    )
    figures = (
        f"{count(ours.found)} of {count(ours.trials)}{whose[0]}, {count(theirs.found)} of "
        f"{count(theirs.trials)}{whose[1]}"
    )
    metric = metric_words(analysis)
    verdict = contrast.judgement.verdict
    if verdict in (Verdict.CANNOT_TELL, Verdict.SUGGESTIVE):
        return _led(
            contrast,
            analysis,
            f"can't tell whether {metric} differs: {figures}, anything from {_points(low)} to "
            f"{_points(high)} points.",
        )
    if verdict is Verdict.EQUIVALENT:
        matters = round(100 * contrast.judgement.smallest_effect)
        return _led(contrast, analysis, f"{metric} is within {matters} points: {figures}.")
    word = "more" if points > 0 else "fewer"
    ends = sorted((abs(low), abs(high)))
    return _led(
        contrast,
        analysis,
        f"{metric}: {figures}, {abs(points)} points {word} ({ends[0]} to {ends[1]}).",
    )


def _points(difference: int) -> str:
    """A signed number, with the sign that is as wide as a plus."""
    return f"{difference:+d}".replace("-", "−")


_BLOCKS = re.compile(r"(?<![\w-])block(s?)(?![\w-])")
"""The word, but not a part of a level's name."""


def _without_effect(contrast: Contrast, effect: NotComparable, analysis: Analysis) -> str:
    """Nothing to judge by: the figures that there are, and why they say no more."""
    reason = _BLOCKS.sub(r"repeat\1", effect.reason)
    if contrast.ours is None or contrast.theirs is None:
        return _led(contrast, analysis, f"{_open(contrast, analysis)}: {reason}.")
    figures = _figures(contrast, analysis)
    if contrast.repeats == 1:
        why = "one repeat" if contrast.begun == 1 else "only one sound repeat"
        return _led(contrast, analysis, f"{_open(contrast, analysis)} from {why}: {figures}.")
    return _led(contrast, analysis, f"{_open(contrast, analysis)} ({figures}): {reason}.")


def cell_sentence(point: Point, analysis: Analysis, *, name: str = "", beside: bool = False) -> str:
    """A cell by itself: its figure, how sure, and what it took; shorter `beside` others."""
    mean = point.estimate(analysis.metric_name)
    title = name or level_names(point.cell.levels, analysis)
    if mean is None:
        return f"{sentence_case(title)}: {metric_words(analysis)} was not measured."
    unit = _unit(analysis)
    label = "" if unit.endswith("/s") else f"{metric_words(analysis)} "
    text = f"{label}{amount(mean.value, unit)}"
    if mean.low is not None and mean.high is not None:
        # The ends of a time may have another unit than the time itself.
        in_full = unit == "µs" and mean.value >= 1e3
        low, high = (amount(end, unit) if in_full else number(end) for end in (mean.low, mean.high))
        text += f" ({low} to {high})"
    tail = point.spread("p95")
    slow = (
        f", p95 response time {amount(tail.median, 'µs')}"
        if (tail and analysis.metric.rate and not analysis.metric.share and not beside)
        else ""
    )
    whose = "" if name or len(analysis.cells) == 1 else f" with {title}"
    lead = f"{name}: " if name else ""
    load = "" if beside and len(analysis.clients) == 1 else f" at {clients_text(point.clients)}"
    return f"{lead}{text}{whose}{load}{slow}."
