"""Turns material into figures and verdicts: the content of a page, before any wording."""

from dataclasses import dataclass

from dbdyno.design.cells import cells
from dbdyno.model import Cell, Figure, find_figure
from dbdyno.report.analysis.comparisons import (
    Comparison,
    MainEffect,
    against_baseline,
    against_itself,
    main_effects,
)
from dbdyno.report.analysis.points import Point, points_of, varying
from dbdyno.report.material.material import Material


@dataclass(frozen=True, slots=True)
class Analysis:
    """The content of the page, before words and drawings."""

    material: Material
    metric: Figure
    metric_name: str
    cells: tuple[Cell, ...]
    points: tuple[Point, ...]
    """By cell in the study's order, then step."""
    comparisons: tuple[Comparison, ...]
    main_effects: tuple[MainEffect, ...]
    against_itself: tuple[Comparison, ...]
    """The machine's own check: one cell under two names."""

    @property
    def varying(self) -> tuple[str, ...]:
        """Factors that distinguish cells."""
        return varying(self.material.study)

    @property
    def pace_name(self) -> str:
        """The figure for a cell's speed: the primary one if it is a rate."""
        return self.metric_name if self.metric.rate else "throughput"

    @property
    def clients(self) -> tuple[int, ...]:
        """The loads, ascending."""
        return tuple(sorted({point.clients for point in self.points}))


def analyse(material: Material) -> Analysis:
    """Figures of every point and verdicts of every comparison the baseline allows."""
    ordered = cells(material.study)
    points = tuple(points_of(material, ordered))
    primary = material.study.primary
    metric = find_figure(primary.metric)
    return Analysis(
        material=material,
        metric=metric,
        metric_name=primary.metric,
        cells=ordered,
        points=points,
        comparisons=tuple(against_baseline(material, points)),
        main_effects=main_effects(material, points),
        against_itself=tuple(against_itself(material, points)),
    )
