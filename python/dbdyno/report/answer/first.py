"""The answer on the first screen: at most 45 words, absolute figures first, then the ratio.

A pure function from the analysis to text, which also names what was not measured. All verdicts with
their reservations are made by `answer.py`; the page has them below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.formats.study import SMOKE
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.analysis.points import Point
from dbdyno.report.analysis.unmeasured import not_measured
from dbdyno.report.answer.busy import end_words
from dbdyno.report.answer.clauses import (
    ALIKE,
    OPEN,
    brief,
    cell_sentence,
    contrast_sentence,
    lead_wordings,
    verdict_words,
)
from dbdyno.report.answer.contrast import Contrast, level_names, of_comparison, of_factor
from dbdyno.report.answer.expected import expected_errors
from dbdyno.report.answer.fitting import Wordings, fitted, words_in
from dbdyno.report.answer.here import answering, compared_here, lacking
from dbdyno.report.answer.leading import Led, Listing, Rise, Unmeasured, leading
from dbdyno.report.answer.listing import listed
from dbdyno.report.answer.outage_note import outage_notes
from dbdyno.report.material.declared import is_exploratory
from dbdyno.report.terms.everyday import counted
from dbdyno.report.terms.wording import clients_text, enumerated, sentence_case
from dbdyno.stats import PairedEffect, ShareEffect, Verdict

MOST_WORDS = 45
MOST_NAMED = 3
"""Cells named one by one."""
MOST_OF_REASON = 10
"""Words of a reason that stands beside what was not measured."""

RANKS = (Verdict.EQUIVALENT, Verdict.SUGGESTIVE, Verdict.SMALL, Verdict.WORSE, Verdict.BETTER)
"""From the least telling verdict to the most; one that is not here is open."""


@dataclass(frozen=True, slots=True)
class First:
    """What a reader in a hurry reads."""

    answer: str
    missing: str
    """What was not measured, as loud as the answer; empty where nothing is missing."""
    notes: tuple[str, ...]
    """What faults did, what this machine can't answer, and errors that the study expects, in
    sentences; not counted among the words."""

    @property
    def text(self) -> str:
        """All of it but the notes."""
        return f"{self.answer} {self.missing}".strip()


def first_answer(analysis: Analysis) -> First:
    """The answer of a study, of imported results or of one `bench`."""
    missing = _missing(analysis)
    room = MOST_WORDS - words_in(missing)
    answer = fitted([_warnings(analysis), *_sentences(analysis)], room)
    sentences = (*outage_notes(analysis), *lacking(analysis), *expected_errors(analysis))
    notes = tuple(sentence_case(note) for note in sentences)
    return First(answer, missing, notes)


def _warnings(analysis: Analysis) -> str:
    """What a reader must know before any figure; mostly empty."""
    smoke = analysis.material.plan.scale == SMOKE
    begin = ["A smoke run: its figures mean nothing."] if smoke else []
    if is_exploratory(analysis.material.changes):
        begin.append("Exploratory, chosen after the data.")
    return " ".join(begin)


def _missing(analysis: Analysis) -> str:
    """Levels without any complete run, by name."""
    gaps = [gap for gap in not_measured(analysis) if not gap.blocks]
    cells = [level_names(gap.levels, analysis) for gap in gaps]
    led = [lead.what.name for lead in leading(analysis) if isinstance(lead.what, Unmeasured)]
    if cells and len(cells) == len(analysis.cells):
        return ""
    names = list(dict.fromkeys([*cells, *(led if not cells else [])]))
    if not names:
        return ""
    more = len(names) - MOST_NAMED
    listed = "; ".join(names[:MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
    reasons = {gap.reason for gap in gaps}
    why = reasons.pop() if cells and len(reasons) == 1 else ""
    return f"Not measured: {listed}{f' ({why})' if 0 < words_in(why) <= MOST_OF_REASON else ''}."


def _sentences(analysis: Analysis) -> Iterator[Wordings]:
    if not any(point.counted for point in analysis.points):
        yield _nothing(analysis)
        return
    leads = [lead for lead in leading(analysis) if not isinstance(lead.what, Unmeasured)]
    compared = compared_here(analysis)
    if leads:
        for lead in leads:
            yield tuple(_of_lead(lead, analysis, is_first=lead is leads[0]))
        yield from _beside_open(leads, compared, analysis)
    elif compared:
        yield from _of_compared(compared, analysis)
    elif analysis.comparisons and not answering(analysis.comparisons, analysis):
        yield "What was compared is the same on this machine: only its noise was measured."
    else:
        yield from _ranking(analysis)


def _nothing(analysis: Analysis) -> Sequence[str]:
    reasons = list(dict.fromkeys(gap.reason for gap in not_measured(analysis)))
    plain = "No run is complete, so the question stays open."
    return (f"{plain} {sentence_case(reasons[0])}.", plain) if reasons else (plain,)


def _of_lead(lead: Led, analysis: Analysis, *, is_first: bool) -> Iterator[str]:
    """The sentence, and for a comparison shorter ones."""
    match lead.what:
        case Comparison() as comparison:
            contrast = of_comparison(comparison, analysis, name=lead.name)
            yield from lead_wordings(contrast, analysis, is_first=is_first)
        case MainEffect() as effect:
            contrast = of_factor(effect, analysis, name=lead.name)
            yield from lead_wordings(contrast, analysis, is_first=is_first)
        case Point() as point:
            yield cell_sentence(point, analysis, name=lead.name)
        case Rise() as rise:
            yield end_words(rise.points, analysis)
        case Listing() as listing:
            yield listed(listing, analysis, name=lead.name)
        case Unmeasured() as gap:
            yield f"{lead.name or gap.name} was not measured."


def _beside_open(
    leads: Sequence[Led], compared: Sequence[Comparison], analysis: Analysis
) -> Iterator[Sequence[str]]:
    """What else was compared at the highest load, where nothing that the study asks first could be
    told."""
    led = [lead.what for lead in leads if isinstance(lead.what, Comparison)]
    verdicts = [comparison.judgement.verdict for comparison in led]
    if len(led) < len(leads) or any(verdict.definite for verdict in verdicts):
        return
    top = max((other.point.clients for other in compared), default=0)
    here = [other for other in compared if other.point.clients == top and other not in led]
    others = [other for other in here if other.judgement.verdict.definite]
    yield from _others([of_comparison(other, analysis) for other in others], analysis, "")


def _of_compared(compared: Sequence[Comparison], analysis: Analysis) -> Iterator[Wordings]:
    """At the highest load the most telling comparison whole, the others briefly; then whether
    other loads agree."""
    top = max(comparison.point.clients for comparison in compared)
    here = [of_comparison(c, analysis) for c in compared if c.point.clients == top]
    main = max(here, key=_rank)
    yield contrast_sentence(main, analysis)
    others = [other for other in here if other is not main]
    yield from _others(others, analysis, verdict_words(main, analysis))
    elsewhere = [
        of_comparison(c, analysis)
        for c in compared
        if c.point.clients != top and level_names(c.point.cell.levels, analysis) == main.candidate
    ]
    yield from _other_loads(main, elsewhere, analysis)


def _rank(contrast: Contrast) -> tuple[int, float]:
    """How telling: by verdict, then by the size of the effect."""
    verdict = contrast.judgement.verdict
    effect = contrast.judgement.effect
    size = 0.0
    if isinstance(effect, PairedEffect):
        size = abs(effect.log_effect)
    elif isinstance(effect, ShareEffect):
        size = abs(effect.difference)
    elif contrast.ours and contrast.theirs and min(contrast.ours, contrast.theirs) > 0:
        size = abs(math.log(contrast.ours / contrast.theirs))
    return RANKS.index(verdict) if verdict in RANKS else -1, size


def _others(
    others: Sequence[Contrast], analysis: Analysis, main_group: str
) -> Iterator[Sequence[str]]:
    """The other candidates, by verdict."""
    groups: dict[str, list[Contrast]] = {}
    for contrast in sorted(others, key=_rank, reverse=True):
        groups.setdefault(verdict_words(contrast, analysis), []).append(contrast)
    for group, members in groups.items():
        word = f"Also {group}" if group == main_group else sentence_case(group)
        plain = [contrast.candidate for contrast in members]
        settled = group not in (OPEN, ALIKE)
        telling = [
            "; ".join(brief(contrast, analysis, reach=reach) for contrast in members)
            for reach in (True, False)
        ]
        yield (
            *([f"{word}: {names}." for names in telling] if settled else []),
            f"{word}: {'; '.join(plain)}.",
            f"{word}: {counted(len(members), 'other')}.",
        )


def _other_loads(
    main: Contrast, elsewhere: Sequence[Contrast], analysis: Analysis
) -> Iterator[str]:
    """Where the same contrast has another verdict, or that it has the same everywhere."""
    verdict = main.judgement.verdict
    others = [contrast for contrast in elsewhere if contrast.judgement.verdict is not verdict]
    for contrast in others:
        yield f"At {clients_text(contrast.clients)}: {verdict_words(contrast, analysis)}."
    if elsewhere and not others and verdict.definite:
        loads = [clients_text(contrast.clients) for contrast in elsewhere]
        at = enumerated(loads) if len(loads) < 3 else "all other loads"
        yield f"{sentence_case(verdict_words(main, analysis))} at {at}, too."


def _ranking(analysis: Analysis) -> Iterator[Wordings]:
    """Cells by themselves, where there is no baseline to compare with."""
    top = max(analysis.clients)
    measured = [
        (spread.median, point)
        for point in analysis.points
        if point.clients == top and (spread := point.spread(analysis.metric_name)) is not None
    ]
    if not measured:
        yield f"No run measured the figure that this study asks for: {analysis.metric.words}."
        return
    higher = analysis.metric.higher_is_better
    ordered = sorted(measured, key=lambda entry: entry[0], reverse=higher)
    if len(ordered) == 1:
        yield sentence_case(cell_sentence(ordered[0][1], analysis))
        if len(ordered[0][1].counted) == 1:
            yield "One repeat, so nothing shows how far another would differ."
        named = analysis.material.study.design.baseline
        yield _why_unjudged(analysis) if named else "Nothing was compared."
        return
    best, worst = ordered[0][1], ordered[-1][1]
    first, last = ("Highest", "Lowest") if higher else ("Lowest", "Highest")
    yield f"{first} of {len(ordered)}: {cell_sentence(best, analysis, beside=True)}"
    yield (
        f"{last}: {cell_sentence(worst, analysis, beside=True)}",
        f"{last}: {level_names(worst.cell.levels, analysis)}.",
    )
    yield _why_unjudged(analysis)


def _why_unjudged(analysis: Analysis) -> str:
    if analysis.material.study.design.baseline:
        return "Nothing was measured to compare with."
    return "No baseline is named, so none of it is judged."
