"""The answer in words: the result, its certainty, and reasons not to rely on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.formats.study import SMOKE
from dbdyno.model.limits import attempted
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.analysis.points import Point
from dbdyno.report.analysis.reasons import not_there
from dbdyno.report.analysis.sentences import evenness, named, sentence, where
from dbdyno.report.analysis.unmeasured import not_measured, sentences
from dbdyno.report.answer.busy import end_words
from dbdyno.report.answer.expected import expected_errors
from dbdyno.report.answer.findable import findable
from dbdyno.report.answer.here import answering, lacking
from dbdyno.report.answer.leading import Led, Listing, Rise, Unmeasured, leading
from dbdyno.report.answer.listing import listed
from dbdyno.report.gates.gate import Gate
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.declared import is_exploratory
from dbdyno.report.material.faults import tried_word
from dbdyno.report.material.imported import preface
from dbdyno.report.sections.published import agreement
from dbdyno.report.terms.wording import (
    clients_text,
    count,
    effect_words,
    interval,
    outlook,
    percent,
    quantity,
    ratio,
    ratio_beside,
    sentence_case,
    spread_text,
    verdict_word,
)
from dbdyno.stats import NotComparable, PairedEffect, ShareEffect, Verdict

_SMOKE = "A smoke run: it only shows that the study runs; its figures mean nothing. "

MOST_NAMED = 4
"""Gates listed individually in the headline."""


def headline(analysis: Analysis) -> str:
    """What the machine can't answer, the answer in a few sentences, and its reservations."""
    explored = is_exploratory(analysis.material.changes)
    text = f"{'Exploratory, chosen after the data: ' if explored else ''}{_answer(analysis)}"
    smoke = analysis.material.plan.scale == SMOKE
    text = preface(analysis.material.runs) + text
    first = "".join(f"{stated} " for stated in _absent(analysis))
    first += "".join(f"{sentence_case(stated)} " for stated in lacking(analysis))
    also = "".join(f" {sentence_case(note)}" for note in expected_errors(analysis))
    return (_SMOKE if smoke else "") + first + text + also + qualification(gates(analysis))


def _absent(analysis: Analysis) -> Sequence[str]:
    """What was not measured, but for what the study leads with, which says so itself."""
    led = [lead.what.name for lead in leading(analysis) if isinstance(lead.what, Unmeasured)]
    found = not_measured(analysis)
    return sentences(tuple(o for o in found if not any(n.startswith(o.cell) for n in led)))


def qualification(found: tuple[Gate, ...]) -> str:
    """The gates' reservations, once for the whole answer; empty if all are ok."""
    text = ""
    for state, words in (("failed", "Not to be relied on"), ("doubtful", "Read with care")):
        names = [gate.name.lower() for gate in found if gate.state == state]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            text += f" {words}: see {', '.join(names[:MOST_NAMED])}{more} below."
    return text


def _answer(analysis: Analysis) -> str:
    if sum(len(point.counted) for point in analysis.points) == 0:
        return "No run is complete, so the question stays open."
    leads = leading(analysis)
    if leads:
        return f"{_led(leads, analysis)}{_tallied(leads, analysis)}"
    if not analysis.comparisons:
        return _ranking(analysis)
    compared = answering(analysis.comparisons, analysis)
    if not compared:
        return "What was compared is the same here: it shows the noise of the method alone."
    if len(compared) == 1:
        return _led([Led(comparison) for comparison in compared], analysis)
    largest = _largest(compared)
    if largest is None:
        return f"{_tally_text(analysis)}{_why_none(compared)}{findable(compared, analysis)}"
    own = _own_sentence(largest, analysis)
    if own:
        return f"{own} {_tally_text(analysis)}"
    return f"{_tally_text(analysis)} The largest effect: {sentence(largest, analysis)}"


def _why_none(compared: Sequence[Comparison]) -> str:
    """The first reason, where no comparison has an effect."""
    reasons = [comparison.judgement.effect for comparison in compared]
    known = [reason.reason for reason in reasons if isinstance(reason, NotComparable)]
    if len(known) < len(compared):
        return ""
    more = len(set(known)) - 1
    others = f", and {more} other reason{'' if more == 1 else 's'}" if more else ""
    return f" {sentence_case(known[0])}{others}."


def _led(leads: Sequence[Led], analysis: Analysis) -> str:
    """What the study leads with, each in its sentences, and what would have been found."""
    text = " ".join(_words(lead, analysis) for lead in leads)
    effects = [lead.what for lead in leads if isinstance(lead.what, Comparison | MainEffect)]
    return f"{text}{findable(effects, analysis)}"


def _words(led: Led, analysis: Analysis) -> str:
    """With the study's own words for it, or its own sentence, or names of levels."""
    match led.what:
        case Comparison() as one:
            own = None if led.name else _own_sentence(one, analysis)
            return own or sentence(one, analysis, name=led.name)
        case MainEffect() as one:
            own = None if led.name else _own_sentence(one, analysis)
            return own or _by_factor(one, analysis, name=led.name)
        case Point() as one:
            return _figure(one, analysis, name=led.name)
        case Rise() as one:
            return end_words(one.points, analysis)
        case Listing() as one:
            return listed(one, analysis, name=led.name)
        case Unmeasured() as one:
            return f"{led.name or one.name}: not measured: {one.why.rstrip('.')}."


def _figure(point: Point, analysis: Analysis, *, name: str) -> str:
    """A cell at a load by itself: how fast it ran, and whether it did so in every block."""
    metric, found = analysis.metric, point.spread(analysis.metric_name)
    p95 = point.spread("p95")
    slow = f", p95 {quantity(p95.median, 'µs')}" if p95 and metric.rate else ""
    planned = sum(run.cell.levels == point.cell.levels for run in analysis.material.plan.runs)
    summaries = [figures.summary for figures in point.counted]
    tried, errors = sum(map(attempted, summaries)), sum(summary.errors for summary in summaries)
    what = tried_word(summaries[0].generator)
    share = f"{percent(errors / tried)}" if errors and tried else "none"
    return (
        f"{named(name, point, analysis)}: {metric.words} {spread_text(found, metric.unit)}{slow}"
        f"{evenness(point)}; complete in {len(point.counted)} of {planned} "
        f"block{'' if planned == 1 else 's'}, {share} of {count(tried)} {what} failed."
    )


def tally(analysis: Analysis) -> Mapping[str, int]:
    """Verdict, in the metric's own words → in how many comparisons with the baseline, those left
    out whose two cells are the same here."""
    compared = answering(analysis.comparisons, analysis)
    return Counter(
        verdict_word(comparison.judgement.verdict, analysis.metric) for comparison in compared
    )


def _tally_text(analysis: Analysis) -> str:
    text = tally(analysis)
    found = ", ".join(f"{word} in {n}" for word, n in text.items())
    total = sum(text.values())
    return f"Of {total} comparison{'' if total == 1 else 's'} with the baseline: {found}."


def _tallied(leads: Sequence[Led], analysis: Analysis) -> str:
    """The tally behind the leads; empty where these are all there is to count."""
    compared = answering(analysis.comparisons, analysis)
    led = [lead for lead in leads if isinstance(lead.what, Comparison)]
    return f" {_tally_text(analysis)}" if len(compared) > len(led) else ""


def _own_sentence(result: Comparison | MainEffect, analysis: Analysis) -> str | None:
    """The study's own sentence for its answer, filled in; only if there is a definite answer."""
    wording, effect = analysis.material.study.answer, result.judgement.effect
    if (
        wording is None
        or not result.judgement.verdict.definite
        or isinstance(effect, NotComparable)
    ):
        return None
    size, sure = effect_words(effect)
    candidate, baseline = _sides(result, analysis)
    return wording.format(
        effect=size,
        interval=sure,
        verdict=verdict_word(result.judgement.verdict, analysis.metric),
        candidate=candidate,
        baseline=baseline,
        blocks=effect.blocks,
        metric=analysis.metric.words,
        smallest_effect=percent(result.judgement.smallest_effect),
    ) + (_range(result) if isinstance(result, MainEffect) else "")


def _sides(result: Comparison | MainEffect, analysis: Analysis) -> tuple[str, str]:
    """Names of candidate and baseline."""
    if isinstance(result, Comparison):
        return where(result.point, analysis), result.baseline.label
    load = f" · {clients_text(result.clients)}" if len(analysis.clients) > 1 else ""
    return f"{result.level}{load}", result.baseline


def _largest(compared: Sequence[Comparison]) -> Comparison | None:
    """The largest of the definite effects; `None` if there is none."""
    size, comparison = max(
        ((_size(compared_pair), compared_pair) for compared_pair in compared),
        key=lambda compared_pair: compared_pair[0],
    )
    return comparison if size > 0 else None


def _size(comparison: Comparison) -> float:
    effect = comparison.judgement.effect
    decided = comparison.judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
    if not decided or isinstance(effect, NotComparable):
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
        if not why:
            why = {not_there(point, analysis.metric_name): None for point in analysis.points}
        reasons = f": {'; '.join(why)}" if why else ""
        return f"No run measured the figure this study asks for{reasons}."
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


def _by_factor(main: MainEffect, analysis: Analysis, *, name: str = "") -> str:
    """The effect of one factor by itself; `name`: the study's words for it."""
    effect = main.judgement.effect
    load = f" at {clients_text(main.clients)}" if len(analysis.clients) > 1 else ""
    lead = f"{name or f'{main.factor} by itself, {main.level} against {main.baseline}'}{load}"
    if not isinstance(effect, PairedEffect):
        why = effect.reason if isinstance(effect, NotComparable) else effect.method
        return f"{lead}: {why}."
    word = verdict_word(main.judgement.verdict, analysis.metric)
    pairs = f"over {len(main.pairs)} matched pair{'' if len(main.pairs) == 1 else 's'}"
    low, high = effect.ratio_interval
    size = f"{ratio_beside(effect.ratio, low, high)} ({interval(low, high)})"
    text = f"{lead}: {word}, {size}, {pairs}."
    return f"{text}{_range(main)}"


def _range(effect: MainEffect) -> str:
    """The effects of the pairs, where their mean alone would mislead."""
    effects = [p.judgement.effect for p in effect.pairs]
    known = [e.ratio for e in effects if isinstance(e, PairedEffect)]
    if not effect.depends:
        return ""
    return f" It depends on the others: {ratio(min(known))} to {ratio(max(known))}."


def answers(analysis: Analysis) -> tuple[str, ...]:
    """The verdict sentences below the headline; if they are many, they are only in the table."""
    return tuple(_answers(analysis))


def _answers(analysis: Analysis) -> Iterator[str]:
    seen_again = agreement(analysis)
    if seen_again is not None:
        yield seen_again
    compared = answering(analysis.comparisons, analysis)
    if not 1 < len(compared) <= MOST_SENTENCES:
        return
    for effect in analysis.main_effects:
        if answering(effect.pairs, analysis):
            yield _by_factor(effect, analysis)
    open_ones: dict[str, list[str]] = {}
    for comparison in compared:
        yield sentence(comparison, analysis, with_outlook=False)
        later = outlook(comparison.judgement.advice)
        if later:
            open_ones.setdefault(later, []).append(where(comparison.point, analysis))
    for later, names in open_ones.items():
        yield f"{'; '.join(names)}:{later}"
