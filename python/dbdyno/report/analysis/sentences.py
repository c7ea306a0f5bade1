"""Points and verdicts in sentences."""

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.wording import (
    clients_text,
    interval,
    outlook,
    ratio_beside,
    shares_text,
    size_text,
    verdict_word,
)
from dbdyno.stats import NotComparable, ShareEffect, StabilityWord, Verdict


def where(point: Point, analysis: Analysis) -> str:
    """A point's name: its cell, and the load where there are several."""
    return named(point.label, point, analysis)


def named(name: str, point: Point, analysis: Analysis) -> str:
    """The same with other words for the cell; empty: its levels."""
    load = f" · {clients_text(point.clients)}" if len(analysis.clients) > 1 else ""
    return f"{name or point.label}{load}"


def effect_text(comparison: Comparison) -> str:
    """Effect, interval and blocks, or why there is none."""
    effect = comparison.judgement.effect
    if isinstance(effect, NotComparable):
        return effect.reason
    if isinstance(effect, ShareEffect):
        return shares_text(effect)
    low, high = effect.ratio_interval
    plural = "" if effect.blocks == 1 else "s"
    return (
        f"{ratio_beside(effect.ratio, low, high)} (95\u202f% interval {interval(low, high)}; "
        f"{effect.blocks} block{plural})"
    )


def evenness(point: Point) -> str:
    """The stability words as the end of a sentence; nothing where none were judged."""
    words = point.stability_words
    return "" if words == StabilityWord.UNKNOWN else f"; {words}"


def sentence(
    comparison: Comparison, analysis: Analysis, *, with_outlook: bool = True, name: str = ""
) -> str:
    """One verdict, whole: what, against what (or the study's `name` for both), how much, how sure,
    how even."""
    judgement = comparison.judgement
    word = verdict_word(judgement.verdict, analysis.metric)
    if judgement.verdict is Verdict.SUGGESTIVE:
        word = f"suggestive of “{verdict_word(judgement.alone, analysis.metric)}”, no answer yet"
    comparable = not isinstance(judgement.effect, NotComparable)
    against = "" if name else f" against {comparison.baseline.label}"
    text = (
        f"{named(name, comparison.point, analysis)}{against}: {word}, "
        f"{analysis.metric.words + ' ' if comparable else ''}"
        f"{effect_text(comparison)}{evenness(comparison.point)}."
    )
    text += (
        _set_up(comparison) + size_text(judgement) + _deciding(comparison) + _left_out(comparison)
    )
    return text + outlook(judgement.advice) if with_outlook else text


def _deciding(comparison: Comparison) -> str:
    places = comparison.judgement.deciding
    if not places or not comparison.judgement.verdict.definite:
        return ""
    if len(places) == len(comparison.blocks):
        return " Every block is needed for this verdict."
    blocks = [str(comparison.blocks[place]) for place in places]
    more = f" `--blocks {2 * len(comparison.blocks)}` would show whether it lasts."
    if len(blocks) == 1:
        return f" It rests on block {blocks[0]}: without it the verdict would be another.{more}"
    named = " or ".join(blocks)
    return f" It rests on single blocks: without block {named} the verdict would be another.{more}"


def _set_up(comparison: Comparison) -> str:
    """One block of turns says nothing of another start of the servers."""
    found = comparison.turns
    return " It holds for this one set-up." if found is not None and found.one_set_up else ""


def _left_out(comparison: Comparison) -> str:
    """Blocks whose runs failed a gate."""
    text = "; ".join(f"block {block}: {why}" for block, why in comparison.left_out.items())
    return f" Left out: {text}." if text else ""
