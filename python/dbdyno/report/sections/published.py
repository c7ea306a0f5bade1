"""Then and now: published figures beside those measured here, figure by figure and comparison by
comparison.

Absolute figures of another machine are shown with their ratio and without a verdict: only
comparisons (two cells that differ in one factor) can agree or not. Reasons are given only if
known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from dbdyno.model import Figure, Published, Study, find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import as_declared, effect_between
from dbdyno.report.analysis.points import Point, label
from dbdyno.report.sections.published_pair import Pair
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, ratio
from dbdyno.stats import Estimate, NotComparable, PairedEffect, estimate

NOT_RUN, NOT_MEASURED = "not run at this scale", "not measured here"
AGREES, OTHER_SIZE, DIFFERS, OPEN = "agrees", "same direction, other size", "differs", "cannot tell"


@dataclass(frozen=True, slots=True)
class Compared:
    """A published comparison beside ours."""

    pair: Pair
    clients: int | None
    effect: PairedEffect | None
    now: Estimate | None
    """The ratio measured here."""
    word: str


def published_tables(analysis: Analysis) -> Iterator[Table]:
    """Only of studies that name published figures."""
    rows = tuple(_rows(analysis))
    if rows:
        title = "Published figures, and those measured here"
        yield Table("published", title, _COLUMNS, rows).without_empty()
    compared = tuple(compared_with_published(analysis))
    if compared:
        rows = tuple(_comparison_row(compared_pair, analysis) for compared_pair in compared)
        title = "Published comparisons, and those measured here"
        yield Table("published-comparisons", title, _COMPARISON_COLUMNS, rows).without_empty()


_OF_SEVERAL = {
    AGREES: "seen again", OTHER_SIZE: "in the same direction with another size",
    DIFFERS: "contradicted", OPEN: "that can't be told",
    NOT_RUN: NOT_RUN, NOT_MEASURED: NOT_MEASURED,
}  # fmt: skip


def agreement(analysis: Analysis) -> str | None:
    """How many published comparisons are seen again, in a sentence; `None` without any."""
    words = [compared.word for compared in compared_with_published(analysis)]
    if not words:
        return None
    shares = [f"{words.count(word)} {text}" for word, text in _OF_SEVERAL.items() if word in words]
    return f"Of {len(words)} published comparison{'s' * (len(words) > 1)}, {'; '.join(shares)}."


_COLUMNS = (
    Column("Then", "text"),
    Column("Cell here", "cell"),
    Column("Clients", "clients", count),
    Column("Figure", "figure"),
    Column("Published", "published", number, pair=True),
    Column("Here", "here", number),
    Column("95 % interval", "here_95", number, pair=True),
    Column("Here ÷ published", "ratio", ratio),
    Column("Remark", "remark"),
    Column("95 % interval of the ratio", "ratio_95", ratio, pair=True),
    Column("Source", "source"),
)

_COMPARISON_COLUMNS = (
    Column("Then", "text"),
    Column("Cell here", "cell"),
    Column("Against", "reference"),
    Column("Clients", "clients", count),
    Column("Figure", "figure"),
    Column("Ratio published", "published", ratio, pair=True),
    Column("Ratio here", "here", ratio),
    Column("95 % interval", "here_95", ratio, pair=True),
    Column("Word", "word"),
    Column("Why", "why"),
)


def _rows(analysis: Analysis) -> Iterator[tuple[Value, ...]]:
    study = analysis.material.study
    for published in study.published:
        if published.against or published.value is None:
            continue
        figure = find_figure(published.metric)
        cell = full_cell(study, published.cell)
        then = published.value if published.high is None else (published.value, published.high)
        found: list[Point | None] = [*_points(analysis, cell, published.clients)]
        for point in found or [None]:
            now = _here(point, published, figure)
            missing = None if now else NOT_RUN if point is None else NOT_MEASURED
            scaled = now.times(1 / _middle(published.value, published.high)) if now else None
            yield (
                published.text or None,
                _label(analysis, cell, published.cell),
                point.clients if point else published.clients,
                f"{figure.title}, {published.unit or figure.unit}",
                then,
                now.value if now else None,
                _interval(now),
                scaled.value if scaled else None,
                "; ".join(filter(None, (missing, published.why))) or None,
                _interval(scaled),
                published.source or None,
            )


def _comparison_row(compared: Compared, analysis: Analysis) -> tuple[Value, ...]:
    pair = compared.pair
    differing = tuple(f for f in pair.cell if pair.cell[f] != pair.reference[f])
    return (
        pair.text or None,
        _label(analysis, pair.cell, differing),
        label(pair.reference, differing),
        compared.clients,
        find_figure(pair.metric).title,
        pair.published,
        compared.now.value if compared.now else None,
        _interval(compared.now),
        compared.word,
        pair.why or None,
    )


def _label(analysis: Analysis, cell: Mapping[str, str], shown: Iterable[str]) -> str:
    """By the levels of factors that vary here, and of those that what was published tells apart:
    a scale may run but one level of them."""
    named = {*analysis.varying, *shown}
    return label(cell, tuple(factor for factor in cell if factor in named))


def full_cell(study: Study, named: Mapping[str, str]) -> Mapping[str, str]:
    """Levels of all factors: those named, else the baseline's, else the factor's first."""
    return {
        factor.name: named.get(factor.name)
        or study.design.baseline.get(factor.name)
        or factor.levels[0].name
        for factor in study.factors
    }


def _points(analysis: Analysis, cell: Mapping[str, str], clients: int | None) -> list[Point]:
    return [
        point
        for point in analysis.points
        if dict(point.cell.levels) == cell and clients in (None, point.clients)
    ]


def _here(point: Point | None, published: Published, figure: Figure) -> Estimate | None:
    """In the unit of the published figure."""
    mean = point.estimate(published.metric) if point else None
    return mean.times(figure.factor(published.unit) or 1.0) if mean else None


def _middle(low: float, high: float | None) -> float:
    return low if high is None else math.sqrt(low * high)


def _interval(found: Estimate | None) -> tuple[float, float] | None:
    if found is None or found.low is None or found.high is None:
        return None
    return found.low, found.high


def compared_with_published(analysis: Analysis) -> Iterator[Compared]:
    """Every comparison that the published figures hold, at every load it was run at."""
    for pair in published_pairs(analysis.material.study):
        points = _points(analysis, pair.cell, pair.clients)
        references = {p.step: p for p in _points(analysis, pair.reference, pair.clients)}
        both = [(point, references[point.step]) for point in points if point.step in references]
        for point, reference in both:
            yield _compared(pair, point, reference, analysis.material.study)
        if not both:
            yield Compared(pair, pair.clients, None, None, NOT_RUN)


def published_pairs(study: Study) -> Iterator[Pair]:
    """Ratios as they were told, and those of any two figures whose cells differ in one factor.

    Of such figures the one at the baseline's level is the reference, else the one named first.
    """
    for published in study.published:
        if published.against:
            cell = full_cell(study, published.cell)
            yield Pair(
                cell,
                {**cell, **published.against},
                published.metric,
                published.clients,
                published.value,
                published.high,
                published.text,
                published.why,
                published.direction,
            )
    absolute = [published for published in study.published if not published.against]
    for first, second in combinations(absolute, 2):
        cells = full_cell(study, first.cell), full_cell(study, second.cell)
        differing = [name for name in cells[0] if cells[0][name] != cells[1][name]]
        if _what(first) != _what(second) or len(differing) != 1:
            continue
        alike = [
            full_cell(study, published.cell)
            for published in absolute
            if _what(published) == _what(first)
        ]
        if _is_reference(study, differing[0], cells, alike):
            yield _pair_of(study, differing[0], (first, second), cells)


def _what(published: Published) -> tuple[str, str, int | None]:
    return published.metric, published.unit, published.clients


def _is_reference(
    study: Study,
    factor: str,
    cells: tuple[Mapping[str, str], Mapping[str, str]],
    alike: Iterable[Mapping[str, str]],
) -> bool:
    """Whether one of the two is what all levels of the factor are held against."""
    base = study.design.baseline.get(factor)
    levels = [cell[factor] for cell in cells]
    others = {name: level for name, level in cells[0].items() if name != factor}
    family = [cell[factor] for cell in alike if {**cell, **others} == dict(cell)]
    return (base if base in family else family[0]) in levels


def _pair_of(
    study: Study,
    factor: str,
    pair: tuple[Published, Published],
    cells: tuple[Mapping[str, str], Mapping[str, str]],
) -> Pair:
    swapped = cells[1][factor] == study.design.baseline.get(factor)
    place = 0 if swapped else 1
    compared, reference = pair[place], pair[1 - place]
    spans = compared.high is not None or reference.high is not None
    assert compared.value is not None and reference.value is not None, (
        "a direction has an `against`"
    )
    least, most = reference.value, reference.high or reference.value
    return Pair(
        cells[place],
        cells[1 - place],
        compared.metric,
        compared.clients,
        compared.value / most,
        (compared.high or compared.value) / least if spans else None,
        " against ".join(filter(None, (compared.text, reference.text))),
        "; ".join(dict.fromkeys(filter(None, (compared.why, reference.why)))),
    )


def _compared(pair: Pair, point: Point, reference: Point, study: Study) -> Compared:
    effect = as_declared(effect_between(point, reference, pair.metric).effect, study)
    if isinstance(effect, NotComparable):
        ours, theirs = point.values(pair.metric), reference.values(pair.metric)
        ratios = [ours[b] / theirs[b] for b in ours.keys() & theirs.keys() if ours[b] * theirs[b]]
        if not ratios:
            return Compared(pair, point.clients, None, None, NOT_MEASURED)
        single = Estimate(estimate(ratios).value, None, None, len(ratios))
        return Compared(pair, point.clients, None, single, OPEN)
    now = Estimate(effect.ratio, *effect.ratio_interval, effect.blocks)
    smallest_effect = study.primary.smallest_effect
    if pair.ratio is None:
        word = direction_word(effect, pair.direction, smallest_effect)
    else:
        word = agreement_word(effect, pair.ratio, pair.high or pair.ratio, smallest_effect)
    return Compared(pair, point.clients, effect, now, word)


def agreement_word(effect: PairedEffect, low: float, high: float, smallest_effect: float) -> str:
    """Whether ours is what was published (a ratio from `low` to `high`).

    Ours agrees if it has the same direction and its 95 % interval comes within δ of theirs; where
    theirs is less than δ, if our 90 % interval lies within ±δ. It differs if the intervals lie
    apart by more than δ; of the same direction, only the size does. All else can't be told.
    """
    margin = math.log1p(smallest_effect)
    least, most = math.log(low), math.log(high)
    rose, fell = effect.low95 > 0, effect.high95 < 0
    theirs_rose, theirs_fell = least >= margin, most <= -margin
    same = (rose and theirs_rose) or (fell and theirs_fell)
    if effect.high95 < least - margin or effect.low95 > most + margin:
        return OTHER_SIZE if same else DIFFERS
    if theirs_rose or theirs_fell:
        return AGREES if same else OPEN
    return AGREES if -margin < effect.low90 and effect.high90 < margin else OPEN


def direction_word(effect: PairedEffect, direction: str, smallest_effect: float) -> str:
    """Whether ours goes the way that was published without a figure.

    It agrees if its 95 % interval lies on that side of 1, and differs if on the other, or if its
    90 % interval lies within ±δ: what they saw is then too small to matter here.
    """
    margin = math.log1p(smallest_effect)
    along, against = effect.low95 > 0, effect.high95 < 0
    if direction == "lower":
        along, against = against, along
    if along:
        return AGREES
    return DIFFERS if against or (-margin < effect.low90 and effect.high90 < margin) else OPEN
