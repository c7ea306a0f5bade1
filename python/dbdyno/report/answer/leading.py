"""What the headline speaks of where the study names it (`leads`), found among what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dbdyno.model import Lead
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.analysis.points import Point, label
from dbdyno.report.answer.here import answering
from dbdyno.report.sections.published import full_cell
from dbdyno.report.terms.wording import clients_text


@dataclass(frozen=True, slots=True)
class Rise:
    """A cell's throughput over its loads."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """What was to be told, and why there is nothing to tell."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Levels of a factor, each with its own share."""

    factor: str
    levels: tuple[str, ...]


Leading = Comparison | MainEffect | Point | Rise | Listing | Unmeasured
"""A point stands for its own figure: it is the baseline, or has none at its load."""

Loaded = TypeVar("Loaded", Point, MainEffect)


@dataclass(frozen=True, slots=True)
class Led:
    """Something that the headline speaks of."""

    what: Leading
    name: str = ""
    """The study's own words for it; empty: names of levels."""


def leading(analysis: Analysis) -> tuple[Led, ...]:
    """In the study's order; empty where it names nothing, or only what is the same here."""
    return tuple(
        Led(what, lead.name)
        for lead in analysis.material.study.leads
        for what in _of_lead(lead, analysis)
    )


def _of_lead(lead: Lead, analysis: Analysis) -> Iterator[Leading]:
    if lead.factor is not None and lead.levels:
        yield Listing(lead.factor, lead.levels)
        return
    if lead.factor is not None and lead.level is not None:
        yield from _by_itself(lead.factor, lead.level, lead.clients, analysis)
        return
    levels = full_cell(analysis.material.study, lead.cell)
    points = [p for p in analysis.points if dict(p.cell.levels) == levels and p.counted]
    if lead.curve and points:
        yield Rise(tuple(points))
    elif (point := _at(points, lead.clients)) is not None:
        yield from _of_point(point, analysis)
    else:
        load = f" · {clients_text(lead.clients)}" if lead.clients else ""
        yield Unmeasured(f"{label(levels, analysis.varying)}{load}", _why_not(levels, analysis))


def _at(found: Sequence[Loaded], clients: int | None) -> Loaded | None:
    """The one at that load, or at the one with the most clients; `None` if there is none."""
    wanted = clients or max((comparison.clients for comparison in found), default=None)
    return next((comparison for comparison in found if comparison.clients == wanted), None)


def _of_point(point: Point, analysis: Analysis) -> Iterator[Leading]:
    compared = [comparison for comparison in analysis.comparisons if comparison.point is point]
    if compared:
        yield from answering(compared, analysis)
    else:
        yield point


def _by_itself(
    factor: str, level: str, clients: int | None, analysis: Analysis
) -> Iterator[Leading]:
    """The main effect, or the one comparison that is it, where no other factor varies."""
    effect = _at(
        [
            effect
            for effect in analysis.main_effects
            if (effect.factor, effect.level) == (factor, level)
        ],
        clients,
    )
    if effect is not None:
        if answering(effect.pairs, analysis):
            yield effect
        return
    baseline = analysis.material.study.design.baseline.get(factor, "")
    point = _at(
        [
            comparison.point
            for comparison in analysis.comparisons
            if dict(comparison.point.cell.levels)
            == {**comparison.baseline.cell.levels, factor: level}
        ],
        clients,
    )
    if point is None:
        yield Unmeasured(f"{factor}, {level} against {baseline}", "no run of both is complete")
    else:
        yield from _of_point(point, analysis)


def _why_not(levels: Mapping[str, str], analysis: Analysis) -> str:
    """The first error that a run of the cell ended with, if any."""
    runs = [run.manifest for run in analysis.material.runs if dict(run.manifest.cell) == levels]
    errors = [run.error.message.splitlines()[0] for run in runs if run.error is not None]
    return errors[0] if errors else "it was not run"
