"""The figures of each cell at each load: every run, and all blocks together."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby

import numpy as np
from hdrh.histogram import HdrHistogram

from dbdyno.formats.histograms import decode, event_responses
from dbdyno.model import Cell, HistogramRecord, StepSummary, Study, TurnResult, find_figure
from dbdyno.model.expected import SortedErrors, sorted_errors
from dbdyno.report.material.faults import faults
from dbdyno.report.material.imported import not_known
from dbdyno.report.material.material import Material, RunMaterial
from dbdyno.stats import (
    Distribution,
    Estimate,
    Mser5,
    Spread,
    Stability,
    estimate,
    merge_histograms,
    mser5,
    spread,
    stability,
    summarise,
)


@dataclass(frozen=True, slots=True)
class BlockFigures:
    """One step of one run."""

    run_id: str
    block: int
    counted: bool
    """Complete: only such runs are used in medians, distributions and verdicts."""
    faults: tuple[str, ...]
    """Why it is excluded from verdicts although it is complete."""
    summary: StepSummary
    errors: SortedErrors
    """Those that belong to the load, and the others."""
    judge_stability: Callable[[], Stability]
    warm_up: Mser5
    """Of warm-up and window together."""
    warm_up_intervals: int
    histogram: HdrHistogram
    """Response time of all events in the window."""
    turns: Mapping[int, TurnResult]
    """Round → the turn in it; empty where the window was one piece."""
    cpus: int
    """Processors of the host."""
    not_known: tuple[str, ...]
    """What nobody can say of an imported run's conditions; empty if dbdyno measured it."""

    @property
    def stability(self) -> Stability:
        """How evenly the window ran. Half a second of processor time to import what judges it:
        who asks for a figure alone does not pay for it."""
        return self.judge_stability()

    def value(self, metric: str) -> float | None:
        """A metric by the name studies use; `None` where it wasn't measured."""
        return find_figure(metric).read(self.summary)


@dataclass(frozen=True, slots=True)
class Point:
    """One cell at one load: all blocks of it."""

    cell: Cell
    step: int
    clients: int
    blocks: tuple[BlockFigures, ...]
    """In block order; interrupted ones are there too."""
    latency: Distribution | None
    """Merged over the counted blocks; nanoseconds."""
    histogram: HdrHistogram

    varying: tuple[str, ...]
    """Factors with more than one level: those that tell cells apart."""

    @property
    def label(self) -> str:
        """The cell by the levels that tell it apart."""
        return label(self.cell.levels, self.varying)

    @property
    def counted(self) -> tuple[BlockFigures, ...]:
        """The blocks that enter figures."""
        return tuple(block for block in self.blocks if block.counted)

    def values(self, metric: str) -> dict[int, float]:
        """Block → value, counted blocks only."""
        found = {figures.block: figures.value(metric) for figures in self.counted}
        return {block: value for block, value in found.items() if value is not None}

    def judged(self, metric: str) -> dict[int, float]:
        """Block → value, of the blocks that enter verdicts."""
        sound = {figures.block for figures in self.counted if not figures.faults}
        return {block: value for block, value in self.values(metric).items() if block in sound}

    def why_left_out(self) -> dict[int, str]:
        """Block → why it is excluded from verdicts, for complete ones."""
        return {f.block: ", ".join(f.faults) for f in self.counted if f.faults}

    def spread(self, metric: str) -> Spread | None:
        """Over the counted blocks; `None` without one."""
        values = list(self.values(metric).values())
        return spread(values) if values else None

    def estimate(self, metric: str) -> Estimate | None:
        """The mean over the counted blocks with its interval; `None` without one."""
        values = list(self.values(metric).values())
        return estimate(values) if values else None

    @property
    def stability_words(self) -> str:
        """The words of all blocks: `flat`, or `flat in 2, stalling in 1 of 3 blocks`."""
        words = sorted(figures.stability.word.value for figures in self.counted)
        counts = {word: len(list(group)) for word, group in groupby(words)}
        if len(counts) <= 1:
            return next(iter(counts), "not measured")
        text = ", ".join(f"{word} in {count}" for word, count in counts.items())
        return f"{text} of {len(words)} blocks"


def varying(study: Study) -> tuple[str, ...]:
    """Names of the factors with more than one level, in the study's order."""
    return tuple(factor.name for factor in study.factors if len(factor.levels) > 1)


def label(levels: Mapping[str, str], factors: tuple[str, ...]) -> str:
    """A cell's name: its levels of the factors that vary, or all of them if none does."""
    shown = [levels[name] for name in factors if name in levels] or list(levels.values())
    return ", ".join(shown) or "all"


def points_of(material: Material, ordered: Iterable[Cell]) -> Iterable[Point]:
    """Every cell at every load it was driven at, in the study's order."""
    expected = material.study.load.errors.declared
    for cell in ordered:
        runs = [run for run in material.runs if dict(run.manifest.cell) == dict(cell.levels)]
        steps = {step.index: step.clients for run in runs for step in run.manifest.steps}
        for step, clients in sorted(steps.items()):
            blocks = tuple(
                sorted(
                    (_figures(run, step, expected) for run in runs if step in run.summaries),
                    key=lambda figures: figures.block,
                )
            )
            merged = merge_histograms(f.histogram for f in blocks if f.counted)
            yield Point(
                cell, step, clients, blocks, summarise(merged), merged, varying(material.study)
            )


def _figures(run: RunMaterial, step: int, expected: Mapping[str, float]) -> BlockFigures:
    summary = run.summaries[step]
    errors = sorted_errors(summary, expected)
    series = run.series.get(step)
    rates = series.events_per_s if series else np.empty(0)
    measured = series.measured if series else np.empty(0, dtype=np.bool_)
    # Lead-ins of later turns are neither warm-up nor window.
    first = int(measured.argmax()) if measured.any() else measured.size
    status = next((s.status for s in run.manifest.steps if s.index == step), "failed")
    return BlockFigures(
        run_id=run.manifest.id,
        block=run.manifest.block,
        counted=run.manifest.status == "complete"
        and status == "complete"
        and not summary.interrupted,
        faults=faults(run, summary, errors),
        errors=errors,
        summary=summary,
        judge_stability=cache(
            partial(stability, rates[measured], series.interval_s if series else 1.0)
        ),
        warm_up=mser5(np.concatenate([rates[:first], rates[measured]])),
        warm_up_intervals=first,
        histogram=merge_histograms(_event_histograms(summary)),
        turns={turn.round: turn for turn in run.turns if turn.step == step},
        cpus=run.processors or 1,
        not_known=not_known([run]),
    )


def _event_histograms(summary: StepSummary) -> Iterable[HdrHistogram]:
    """Response times of events, whatever their label, from the engine's own record."""
    histograms = summary.record.get("histograms")
    records = histograms if isinstance(histograms, list) else []
    for record in event_responses(HistogramRecord(**record) for record in records):
        yield decode(record)
