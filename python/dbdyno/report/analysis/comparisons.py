"""Which points are compared, and the verdicts: against the baseline and by factor."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.design.cells import levels_key, twice
from dbdyno.model import Primary, Study, find_figure
from dbdyno.report.analysis.points import Point
from dbdyno.report.analysis.reasons import too_few_blocks, without_common_block
from dbdyno.report.analysis.shares import share_effect
from dbdyno.report.analysis.turns_effect import Found, turns_effect
from dbdyno.report.material.material import Material
from dbdyno.stats import (
    Judgement,
    NotComparable,
    PairedEffect,
    ShareEffect,
    TurnsEffect,
    Within,
    benjamini_hochberg,
    effect_of,
    judge_family,
    judge_shares,
    paired_effect,
    widened,
)

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """A point against its baseline, block by block, on the primary metric."""

    point: Point
    baseline: Point
    judgement: Judgement
    blocks: tuple[int, ...]
    """Numbers of the blocks compared, in the order of the effect's differences."""
    left_out: Mapping[int, str]
    """Block → why it is excluded from verdicts although both runs are complete."""
    turns: TurnsEffect | None = None
    """Where the noise comes from, if the cells were driven in turns."""
    set_aside: tuple[str, ...] = ()
    """Turns excluded by the predefined rule, each with the reason."""


@dataclass(frozen=True, slots=True)
class MainEffect:
    """One factor by itself: a level against its baseline with all else equal, averaged over the
    other factors."""

    factor: str
    level: str
    baseline: str
    clients: int
    pairs: tuple[Comparison, ...]
    """The matched comparisons it is the mean of: one factor changes, the others are alike."""
    judgement: Judgement
    depends: bool
    """The effect differs between the pairs by more than chance and by at least δ."""


def baseline_of(point: Point, material: Material, points: Iterable[Point]) -> Point | None:
    """The point with the baseline's levels and otherwise this one's, at the same load."""
    named = material.study.design.baseline
    if not named:
        return None
    levels = {**point.cell.levels, **named}
    if levels == dict(point.cell.levels):
        return None
    for other in points:
        if other.step == point.step and dict(other.cell.levels) == levels:
            return other
    return None


def against_baseline(material: Material, points: tuple[Point, ...]) -> Iterator[Comparison]:
    """The primary family: the primary metric of every point against its baseline."""
    pairs = [
        (point, baseline)
        for point in _answering(material, points)
        if (baseline := baseline_of(point, material, points)) is not None
    ]
    return compare(pairs, material.study)


def against_itself(material: Material, points: tuple[Point, ...]) -> Iterator[Comparison]:
    """The cell compared with its own copy: a separate family, never the answer."""
    repeated = twice(material.study)
    if repeated is None:
        return iter(())
    first, other = ([p for p in points if p.cell.levels == cell.levels] for cell in repeated)
    pairs = [(again, point) for point in first for again in other if again.step == point.step]
    return compare(pairs, material.study)


def _answering(material: Material, points: tuple[Point, ...]) -> tuple[Point, ...]:
    """All points except those of the copied cell."""
    repeated = twice(material.study)
    return tuple(p for p in points if repeated is None or p.cell.levels != repeated[1].levels)


def compare(pairs: Sequence[tuple[Point, Point]], study: Study) -> Iterator[Comparison]:
    """Compares points with baselines, judged as one family."""
    primary = study.primary
    if find_figure(primary.metric).share:
        yield from _compare_shares(pairs, primary)
        return
    found = [effect_between(point, baseline, primary.metric) for point, baseline in pairs]
    for (point, baseline), judgement, effect in zip(
        pairs, judged_family([effect.effect for effect in found], study), found, strict=True
    ):
        left_out = {**baseline.why_left_out(), **point.why_left_out(), **effect.dropped}
        yield Comparison(
            point, baseline, judgement, effect.blocks, left_out, effect.turns, effect.set_aside
        )


def _compare_shares(pairs: Sequence[tuple[Point, Point]], primary: Primary) -> Iterator[Comparison]:
    effects = [share_effect(point, baseline, primary.metric) for point, baseline in pairs]
    judgements = judge_shares(
        effects,
        smallest_effect=primary.smallest_effect,
        higher_is_better=primary.better == "higher",
    )
    for (point, baseline), judgement in zip(pairs, judgements, strict=True):
        left_out = {**baseline.why_left_out(), **point.why_left_out()}
        yield Comparison(point, baseline, judgement, tuple(point.judged(primary.metric)), left_out)


def judged_family(
    effects: Sequence[PairedEffect | NotComparable], study: Study
) -> tuple[Judgement, ...]:
    """Verdicts by what the study declares: its smallest effect, what is better, and whether it may
    stop."""
    primary = study.primary
    return judge_family(
        [as_declared(effect, study) for effect in effects],
        smallest_effect=primary.smallest_effect,
        higher_is_better=primary.better == "higher",
    )


def as_declared(effect: PairedEffect | NotComparable, study: Study) -> PairedEffect | NotComparable:
    """An effect of blocks, wider where the study may stop early."""
    return effect if study.design.stop_half_width is None else widened(effect)


def main_effects(material: Material, points: tuple[Point, ...]) -> tuple[MainEffect, ...]:
    """For each factor of the baseline, its levels against the baseline's, the others alike.

    The effect is the mean over the matched pairs, block by block, judged as a family of its own.
    None where the baseline names a factor alone and nothing else varies: the comparisons say it.
    """
    primary = material.study.primary
    if find_figure(primary.metric).share:
        return ()
    groups = list(_matched(material, points))
    if len({name for name, *_ in groups}) < 2 and all(len(pairs) < 2 for *_, pairs in groups):
        return ()
    compared = [tuple(compare(pairs, material.study)) for *_, pairs in groups]
    found = [[_found(pair) for pair in pairs] for pairs in compared]
    tables = [_by_block(pairs) for pairs in found]
    means = [mean_effect(pairs) for pairs in found]
    depends = _depends(tables, found, primary.smallest_effect)
    return tuple(
        MainEffect(
            factor, level, pairs[0].baseline.cell.levels[factor], clients, pairs, judgement, differs
        )
        for (factor, level, clients, _), pairs, judgement, differs in zip(
            groups, compared, judged_family(means, material.study), depends, strict=True
        )
    )


def _matched(
    material: Material, points: tuple[Point, ...]
) -> Iterator[tuple[str, str, int, list[tuple[Point, Point]]]]:
    by_levels = {(levels_key(p.cell.levels), p.step): p for p in points}
    for factor, base in material.study.design.baseline.items():
        groups: dict[tuple[str, int], list[tuple[Point, Point]]] = {}
        for point in _answering(material, points):
            levels = {**point.cell.levels, factor: base}
            partner = by_levels.get((levels_key(levels), point.step))
            if point.cell.levels[factor] != base and partner is not None:
                key = point.cell.levels[factor], point.clients
                groups.setdefault(key, []).append((point, partner))
        for (level, clients), pairs in groups.items():
            yield factor, level, clients, pairs


def mean_effect(pairs: Sequence[Found]) -> PairedEffect | NotComparable:
    """The mean of the effects of several pairs, block by block, over the blocks that all have."""
    table = _by_block(pairs)
    if not table.size:
        reasons = {
            pair.name: pair.effect.reason
            for pair in pairs
            if isinstance(pair.effect, NotComparable)
        }
        known = {pair.name: pair.blocks for pair in pairs if pair.name not in reasons}
        return without_common_block(known, reasons)
    return effect_of(table.mean(axis=0), _within(pairs, np.full(len(pairs), 1 / len(pairs))))


def _found(pair: Comparison) -> Found:
    """What was found of its points, without the verdict; shares have no effect by block."""
    effect = pair.judgement.effect
    if isinstance(effect, ShareEffect):
        effect = NotComparable("shares are compared over all blocks")
    return Found(effect, pair.blocks, name=f"{pair.point.label} against {pair.baseline.label}")


def _by_block(pairs: Sequence[Found]) -> np.ndarray:
    """ln(ratio), a row a pair, a column a block that all pairs have; empty without any.

    One block of turns has a difference for each of its pairs: their mean is the block's.
    """
    shared = set.intersection(*(set(pair.blocks) for pair in pairs)) if pairs else set()
    rows = []
    for pair in pairs:
        effect = pair.effect
        if not isinstance(effect, PairedEffect):
            return np.empty((0, 0))
        alone = len(pair.blocks) == 1
        values = (effect.log_effect,) if alone else effect.differences
        by_block = dict(zip(pair.blocks, values, strict=True))
        rows.append([by_block[block] for block in sorted(shared)])
    return np.array(rows) if shared else np.empty((0, 0))


def _within(pairs: Sequence[Found], weights: np.ndarray) -> Within | None:
    """What turns explain of a weighted sum of the pairs' differences, pairs being independent."""
    effects = [pair.effect for pair in pairs]
    known = [e.within for e in effects if isinstance(e, PairedEffect) and e.within is not None]
    if not known or len(known) < len(pairs):
        return None
    variance = sum(
        float(w) ** 2 * spread.variance for w, spread in zip(weights, known, strict=True)
    )
    return Within(variance, min(spread.degrees for spread in known))


def _depends(
    tables: Sequence[np.ndarray],
    compared: Sequence[Sequence[Found]],
    smallest_effect: float,
) -> list[bool]:
    """Whether some pair differs from the mean of its group: t on the differences, BH over all."""
    found: list[tuple[int, float, float]] = []
    for place, (table, pairs) in enumerate(zip(tables, compared, strict=True)):
        if table.shape[0] < 2:
            continue
        from_mean = np.eye(len(pairs)) - 1 / len(pairs)
        for row, weights in zip(table - table.mean(axis=0), from_mean, strict=True):
            effect = effect_of(row, _within(pairs, weights))
            if isinstance(effect, PairedEffect):
                found.append((place, effect.p, abs(effect.log_effect)))
    adjusted = benjamini_hochberg([p for _, p, _ in found])
    matter = np.log1p(smallest_effect)
    places = {
        place
        for (place, _, size), p in zip(found, adjusted, strict=True)
        if p < LEVEL and 2 * size >= matter
    }
    return [place in places for place in range(len(tables))]


def effect_between(point: Point, baseline: Point, metric: str) -> Found:
    """The effect over the blocks in which both sides are sound; from turns where there are any.

    Imported results have none: their blocks are no pairs, and what is not known of them may differ.
    """
    unknown = [
        word for side in (baseline, point) for figures in side.blocks for word in figures.not_known
    ]
    if unknown:
        words = ", ".join(dict.fromkeys(unknown))
        return Found(
            NotComparable(f"{words} of imported results are not known, and may differ"), ()
        )
    ours, theirs = point.judged(metric), baseline.judged(metric)
    blocks = tuple(sorted(ours.keys() & theirs.keys()))
    few = too_few_events((point, baseline), blocks, metric)
    if few is not None:
        return Found(few, blocks)
    lost = too_few_blocks(point, baseline, metric)
    if not blocks and lost is not None:
        return Found(lost, blocks)
    by_turns = turns_effect(point, baseline, metric, blocks)
    if by_turns is not None:
        return by_turns
    if lost is not None:
        return Found(lost, blocks)
    values = ([theirs[block] for block in blocks], [ours[block] for block in blocks])
    return Found(paired_effect(*values), blocks)


def too_few_events(
    sides: Iterable[Point], blocks: Collection[int], metric: str
) -> NotComparable | None:
    """Where a block has less events than the figure needs to mean anything."""
    figure = find_figure(metric)
    found = [figures for side in sides for figures in side.counted]
    events = [figure.events(figures.summary) for figures in found if figures.block in blocks]
    if not events or min(events) >= figure.least_events:
        return None
    needed, least = figure.least_events, min(events)
    message = f"{metric} needs {needed:,} events in each block; the fewest are {least:,}"
    return NotComparable(message.replace(",", "\u202f"))
