"""The answer of a study that is not over: the report's own, of the blocks there are.

It is computed at the end of a block, never while a load is on, and is no reason to stop: only the
rule that a study declares is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.comparisons import Comparison
from dbdyno.report.analysis.points import Point
from dbdyno.report.answer.first import first_answer
from dbdyno.report.material.gather import gather
from dbdyno.report.terms.everyday import amount
from dbdyno.report.terms.wording import interval, ratio_beside, verdict_word
from dbdyno.stats import PairedEffect


@dataclass(frozen=True, slots=True)
class Mean:
    """The primary figure of a cell at a load."""

    cell: str
    clients: int
    value: float
    low: float | None
    """Of the 95 % interval; `None`: one block has none."""
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell at a load against its baseline."""

    cell: str
    clients: int
    baseline: str
    ratio: float
    low: float
    high: float
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class SoFar:
    """What the blocks that are complete say."""

    question: str
    text: str
    """As the first screen of a report has it."""
    figure: str
    unit: str
    blocks_done: int
    """Of the cell that has the fewest."""
    blocks: int
    means: tuple[Mean, ...]
    effects: tuple[Effect, ...]

    @property
    def is_final(self) -> bool:
        """Whether every block of the plan is there."""
        return self.blocks_done >= self.blocks


def answer_so_far(store: Path, study: str) -> SoFar:
    """The answer from what is stored. Raises `StoreError`."""
    return so_far(analyse(gather(store, study)))


def so_far(analysis: Analysis) -> SoFar:
    """The same from what a report has computed."""
    blocks_done = min((len(point.counted) for point in analysis.points), default=0)
    return SoFar(
        question=analysis.material.study.question,
        text=first_answer(analysis).text,
        figure=analysis.metric.title,
        unit=analysis.metric.unit,
        blocks_done=blocks_done,
        blocks=analysis.material.plan.blocks,
        means=tuple(_means(analysis)),
        effects=tuple(_effects(analysis)),
    )


def _means(analysis: Analysis) -> Iterator[Mean]:
    for point in analysis.points:
        mean = _mean(point, analysis)
        if mean is not None:
            yield mean


def _mean(point: Point, analysis: Analysis) -> Mean | None:
    estimate = point.estimate(analysis.metric_name)
    if estimate is None:
        return None
    text = amount(estimate.value, analysis.metric.unit)
    return Mean(point.label, point.clients, estimate.value, estimate.low, estimate.high, text)


def _effects(analysis: Analysis) -> Iterator[Effect]:
    for comparison in analysis.comparisons:
        effect = comparison.judgement.effect
        if isinstance(effect, PairedEffect):
            yield _effect(comparison, effect, analysis)


def _effect(comparison: Comparison, effect: PairedEffect, analysis: Analysis) -> Effect:
    low, high = effect.ratio_interval
    return Effect(
        cell=comparison.point.label,
        clients=comparison.point.clients,
        baseline=comparison.baseline.label,
        ratio=effect.ratio,
        low=low,
        high=high,
        verdict=verdict_word(comparison.judgement.verdict, analysis.metric),
        text=f"{ratio_beside(effect.ratio, low, high)} ({interval(low, high)})",
    )
