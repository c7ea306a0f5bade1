"""The answer in words: the result, its certainty, and reasons not to rely on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from dbdyno.formats.study import SMOKE
from dbdyno.report.analyse import Analysis
from dbdyno.report.comparisons import Comparison, MainEffect
from dbdyno.report.declared import is_exploratory
from dbdyno.report.gate import Gate
from dbdyno.report.imported import preface
from dbdyno.report.published import agreement
from dbdyno.report.validity import gates
from dbdyno.report.wording import (
    effect_words,
    evenness,
    interval,
    outlook,
    percent,
    ratio,
    sentence,
    spread_text,
    verdict_word,
    where,
)
from dbdyno.stats import NotComparable, PairedEffect, ShareEffect, Verdict

_SMOKE = "A smoke run: it only shows that the study runs; its figures mean nothing. "

MOST_NAMED = 4
"""Gates listed individually in the headline."""


def headline(analysis: Analysis) -> str:
    """The answer in a few sentences, ending with its reservations."""
    explored = is_exploratory(analysis.material.changes)
    told = f"{'Exploratory, chosen after the data: ' if explored else ''}{_answer(analysis)}"
    smoke = analysis.material.plan.scale == SMOKE
    told = preface(analysis.material.runs) + told
    return (_SMOKE if smoke else "") + told + qualification(gates(analysis))


def qualification(found: tuple[Gate, ...]) -> str:
    """The gates' reservations, once for the whole answer; empty if all are ok."""
    told = ""
    for state, words in (("failed", "Not to be relied on"), ("doubtful", "Read with care")):
        names = [gate.name.lower() for gate in found if gate.state == state]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            told += f" {words}: see {', '.join(names[:MOST_NAMED])}{more} below."
    return told


def _answer(analysis: Analysis) -> str:
    if sum(len(point.counted) for point in analysis.points) == 0:
        return "No run is complete, so the question stays open."
    if not analysis.comparisons:
        return _ranking(analysis)
    own = _own_sentence(analysis)
    if len(analysis.comparisons) == 1:
        return own or sentence(analysis.comparisons[0], analysis)
    found = ", ".join(f"{word} in {n}" for word, n in tally(analysis).items())
    told = f"Of {len(analysis.comparisons)} comparisons with the baseline: {found}."
    leading = _leading(analysis)
    if own:
        return f"{own} {told}"
    return told if leading is None else f"{told} The largest effect: {sentence(leading, analysis)}"


def tally(analysis: Analysis) -> Mapping[str, int]:
    """Verdict, in the metric's own words → in how many comparisons with the baseline."""
    words = (verdict_word(each.judgement.verdict, analysis.metric) for each in analysis.comparisons)
    return Counter(words)


def _own_sentence(analysis: Analysis) -> str | None:
    """The study's own sentence for its answer, filled in; only if there is a definite answer."""
    wording = analysis.material.study.answer
    leading = analysis.comparisons[0] if len(analysis.comparisons) == 1 else _leading(analysis)
    if wording is None or leading is None or not leading.judgement.verdict.definite:
        return None
    effect = leading.judgement.effect
    if isinstance(effect, NotComparable):
        return None
    size, sure = effect_words(effect)
    return wording.format(
        effect=size,
        interval=sure,
        verdict=verdict_word(leading.judgement.verdict, analysis.metric),
        candidate=where(leading.point, analysis),
        baseline=leading.baseline.label,
        blocks=effect.blocks,
        metric=analysis.metric.words,
        smallest_effect=percent(leading.judgement.smallest_effect),
    )


def _leading(analysis: Analysis) -> Comparison | None:
    """The largest of the definite effects of the primary family; `None` if there is none."""
    sizes = [(_size(comparison), comparison) for comparison in analysis.comparisons]
    size, comparison = max(sizes, key=lambda one: one[0])
    return comparison if size > 0 else None


def _size(comparison: Comparison) -> float:
    effect = comparison.judgement.effect
    told = comparison.judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
    if not told or isinstance(effect, NotComparable):
        return 0.0
    return abs(effect.difference if isinstance(effect, ShareEffect) else effect.log_effect)


def _ranking(analysis: Analysis) -> str:
    metric = analysis.metric
    measured = [
        (found.median, point, found)
        for point in analysis.points
        if (found := point.spread(analysis.metric_name)) is not None
    ]
    if not measured:
        why = {reason: None for p in analysis.points for reason in p.why_left_out().values()}
        told = f": {'; '.join(why)}" if why else ""
        return f"No run measured the figure this study asks for{told}."
    choose = max if metric.higher_is_better else min
    _, point, found = choose(measured, key=lambda entry: entry[0])
    word = "highest" if metric.higher_is_better else "lowest"
    text = f"{metric.title}: {spread_text(found, metric.unit)}{evenness(point)}"
    if len(measured) > 1:
        text = (
            f"The {word} {metric.words} was that of {where(point, analysis)}: "
            f"{spread_text(found, metric.unit)}{evenness(point)}"
        )
    if analysis.material.study.design.baseline:
        return f"{text}. Nothing was measured at the same load to compare, so there is no verdict."
    return f"{text}. The study names no baseline, so there is no verdict."


MOST_SENTENCES = 8


def _by_factor(one: MainEffect, analysis: Analysis) -> str:
    """The effect of one factor by itself."""
    effect = one.judgement.effect
    load = f" at {one.clients} client{'' if one.clients == 1 else 's'}"
    lead = (
        f"{one.factor} by itself, {one.level} against {one.baseline}"
        f"{load if len(analysis.clients) > 1 else ''}"
    )
    if not isinstance(effect, PairedEffect):
        why = effect.reason if isinstance(effect, NotComparable) else effect.method
        return f"{lead}: {why}."
    word = verdict_word(one.judgement.verdict, analysis.metric)
    pairs = f"over {len(one.pairs)} matched pair{'' if len(one.pairs) == 1 else 's'}"
    told = f"{lead}: {word}, {ratio(effect.ratio)} ({interval(*effect.ratio_interval)}), {pairs}."
    if not one.depends:
        return told
    each = [p.judgement.effect for p in one.pairs]
    known = [e.ratio for e in each if isinstance(e, PairedEffect)]
    return f"{told} It depends on the others: {ratio(min(known))} to {ratio(max(known))}."


def answers(analysis: Analysis) -> tuple[str, ...]:
    """The verdict sentences below the headline; if they are many, they are only in the table."""
    return tuple(_answers(analysis))


def _answers(analysis: Analysis) -> Iterator[str]:
    seen_again = agreement(analysis)
    if seen_again is not None:
        yield seen_again
    if not 1 < len(analysis.comparisons) <= MOST_SENTENCES:
        return
    for one in analysis.main_effects:
        yield _by_factor(one, analysis)
    open_ones: dict[str, list[str]] = {}
    for comparison in analysis.comparisons:
        yield sentence(comparison, analysis, with_outlook=False)
        later = outlook(comparison.judgement.advice)
        if later:
            open_ones.setdefault(later, []).append(where(comparison.point, analysis))
    for later, names in open_ones.items():
        yield f"{'; '.join(names)}:{later}"
