"""Two sides of a comparison as the answer needs them: names, figures, load, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.everyday import figure_name
from dbdyno.report.terms.wording import enumerated
from dbdyno.stats import Judgement, NotComparable, PairedEffect, Verdict, estimate


@dataclass(frozen=True, slots=True)
class Contrast:
    """A candidate against its baseline."""

    candidate: str
    baseline: str
    ours: float | None
    """The candidate's figure, the geometric mean over its repeats; `None`: not measured."""
    theirs: float | None
    judgement: Judgement
    clients: int
    repeats: int
    """The fewest of both sides that enter the verdict."""
    begun: int
    """The fewest of both sides that are complete, those left out of verdicts included."""
    by_turns: bool = False
    """The effect is that of undisturbed turns, and may differ from the ratio of both figures."""
    name: str = ""
    """The study's own words for both."""
    spread: tuple[float, float] | None = None
    """The least and greatest ratio among matched pairs, where the effect depends on the rest."""
    unshown: tuple[int, int] = (0, 1)
    """Of the comparisons whose mean it is, those without an answer of their own, and all."""

    @property
    def alike(self) -> bool:
        """Both are shown to be equivalent, or would be if this were the only comparison."""
        verdict, alone = self.judgement.verdict, self.judgement.alone
        return Verdict.EQUIVALENT in (verdict, alone if verdict is Verdict.SUGGESTIVE else None)


def of_comparison(comparison: Comparison, analysis: Analysis, *, name: str = "") -> Contrast:
    """A cell against its baseline."""
    point, baseline = comparison.point, comparison.baseline
    blocks = frozenset(comparison.blocks)
    ours, theirs = (_mean([side], analysis.metric_name, blocks) for side in (point, baseline))
    return Contrast(
        level_names(point.cell.levels, analysis),
        level_names(baseline.cell.levels, analysis, beside=point.cell.levels),
        ours,
        theirs,
        comparison.judgement,
        point.clients,
        len(comparison.blocks) or min(len(point.counted), len(baseline.counted)),
        min(len(point.counted), len(baseline.counted)),
        comparison.turns is not None,
        name,
    )


def of_factor(effect: MainEffect, analysis: Analysis, *, name: str = "") -> Contrast:
    """A factor by itself: geometric means over the matched pairs."""
    sides = [[p.point for p in effect.pairs], [p.baseline for p in effect.pairs]]
    shared = frozenset.intersection(*(frozenset(pair.blocks) for pair in effect.pairs))
    ours, theirs = (_mean(side, analysis.metric_name, shared) for side in sides)
    effects = [pair.judgement.effect for pair in effect.pairs]
    ratios = [effect.ratio for effect in effects if isinstance(effect, PairedEffect)]
    return Contrast(
        f"{effect.factor}={effect.level}",
        effect.baseline,
        ours,
        theirs,
        effect.judgement,
        effect.clients,
        min(len(pair.blocks) for pair in effect.pairs),
        min(len(pair.point.counted) for pair in effect.pairs),
        any(pair.turns is not None for pair in effect.pairs),
        name,
        (min(ratios), max(ratios)) if effect.depends and ratios else None,
        (sum(not has_answer(pair) for pair in effect.pairs), len(effect.pairs)),
    )


def has_answer(result: Comparison | MainEffect) -> bool:
    """Whether it was decided: not where the two can't be compared."""
    judgement = result.judgement
    return judgement.verdict.definite and not isinstance(judgement.effect, NotComparable)


def level_names(
    levels: Mapping[str, str], analysis: Analysis, *, beside: Mapping[str, str] | None = None
) -> str:
    """A cell in a sentence; `beside` another cell, only the levels that differ from it."""
    return enumerated(level_terms(levels, analysis, beside=beside))


def level_terms(
    levels: Mapping[str, str], analysis: Analysis, *, beside: Mapping[str, str] | None = None
) -> list[str]:
    """A cell's level, or where several factors vary `factor=level` of each; `beside` another cell,
    only those that differ from it."""
    varying = [name for name in analysis.varying if name in levels]
    shown = [name for name in varying if beside is None or beside.get(name) != levels[name]]
    if not shown:
        return [", ".join(levels.values()) or "all"]
    if len(varying) == 1:
        return [levels[varying[0]]]
    return [f"{name}={levels[name]}" for name in shown]


def metric_words(analysis: Analysis) -> str:
    """The deciding figure within a sentence; a sampled metric as its source calls it."""
    words = analysis.material.words_of(analysis.metric_name)
    if words is None:
        return figure_name(analysis.metric)
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


def _mean(points: Sequence[Point], metric: str, blocks: frozenset[int]) -> float | None:
    """The mean over points of the mean over the blocks that are compared, or over all where none
    is; `None` if a point has no value."""
    means = []
    for point in points:
        values = [v for block, v in point.values(metric).items() if block in blocks or not blocks]
        if not values:
            return None
        means.append(estimate(values).value)
    return estimate(means).value
