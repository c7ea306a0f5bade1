"""What the machine of a study can't answer: levels that are the same on it, and sources it lacks.

It is said before the answer, since no figure of such a study speaks of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from dbdyno.model import OVER, Cell, Sampled, find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison
from dbdyno.report.analysis.points import Point
from dbdyno.report.material.material import RunMaterial

Levels = frozenset[tuple[str, str]]
"""A cell by its levels."""


def lacking(analysis: Analysis) -> tuple[str, ...]:
    """What can't be answered here, in sentences."""
    return (*_same_levels(analysis), *_not_sampled(analysis))


def answering(compared: Iterable[Comparison], analysis: Analysis) -> tuple[Comparison, ...]:
    """The comparisons of cells that differ on this machine."""
    same = _same_cells(analysis)
    return tuple(
        comparison
        for comparison in compared
        if frozenset((_levels(comparison.point.cell), _levels(comparison.baseline.cell)))
        not in same
    )


def compared_here(analysis: Analysis) -> tuple[Comparison, ...]:
    """Those of them whose sides both have a complete run: a side without one is named as not
    measured, and is no open question."""
    return tuple(
        comparison
        for comparison in answering(analysis.comparisons, analysis)
        if comparison.point.counted and comparison.baseline.counted
    )


def _levels(cell: Cell) -> Levels:
    return frozenset(cell.levels.items())


def _same_cells(analysis: Analysis) -> Mapping[frozenset[Levels], tuple[Cell, Cell]]:
    """Pairs of cells that ask for other processors, got the same, and differ in nothing else."""
    got: dict[Levels, set[str]] = {}
    for run in analysis.material.runs:
        got.setdefault(frozenset(run.manifest.cell.items()), set()).add(_processors_of(run))
    known = {levels: next(iter(texts)) for levels, texts in got.items() if len(texts) == 1}
    bound = [
        (cell, _but_processors(cell), known[_levels(cell)])
        for cell in analysis.cells
        if "cpus" in cell.host and known.get(_levels(cell))
    ]
    return {
        frozenset((_levels(a), _levels(b))): (a, b)
        for (a, a_else, a_got), (b, b_else, b_got) in combinations(bound, 2)
        if a_got == b_got and a.host["cpus"] != b.host["cpus"] and a_else == b_else
    }


def _processors_of(run: RunMaterial) -> str:
    """Which ones server and client were bound to; empty: not known."""
    changed = run.facts.get("host_change")
    part = changed.get("cpus") if isinstance(changed, Mapping) else None
    after = part.get("after") if isinstance(part, Mapping) else None
    return json.dumps(after, sort_keys=True) if isinstance(after, Mapping) and after else ""


def _but_processors(cell: Cell) -> Cell:
    host = {name: value for name, value in cell.host.items() if name != "cpus"}
    return replace(cell, levels={}, host=host)


def _same_levels(analysis: Analysis) -> Iterator[str]:
    texts: dict[str, None] = {}
    for a, b in _same_cells(analysis).values():
        factors = [name for name in a.levels if a.levels[name] != b.levels[name]]
        ours, theirs = (", ".join(cell.levels[name] for name in factors) for cell in (a, b))
        same = f"`{ours}` and `{theirs}` are the same here"
        by_threads = "cores" in (*_sides(a), *_sides(b)) and _has_no_hardware_threads(analysis)
        why = (
            f"This machine has no hardware threads (or a hypervisor hides them): {same}"
            if by_threads
            else f"{same}, since both got the same processors"
        )
        texts[f"{why}; how they differ can't be said."] = None
    yield from texts


def _sides(cell: Cell) -> tuple[object, ...]:
    """What the cell asks for, for the server and for the client."""
    asked = cell.host.get("cpus")
    return tuple(asked.values()) if isinstance(asked, Mapping) else ()


def _has_no_hardware_threads(analysis: Analysis) -> bool:
    runs = analysis.material.runs
    shown = next(filter(None, (run.processors for run in runs)), None)
    return shown is not None and any(run.host("processor").get("cores") == shown for run in runs)


def _not_sampled(analysis: Analysis) -> Iterator[str]:
    """Sources that the study names, or its charts and deciding figure need, and that gave nothing,
    or not what these need."""
    study = analysis.material.study
    figures = [study.primary.metric, *(name for chart in study.charts for name in chart.metrics)]
    unmeasured = [name for name in figures if not any(map(_has(name), analysis.points))]
    needed = dict.fromkeys(
        (*study.collect, *(source for name in figures for source in _sources(name)))
    )
    for source in needed:
        accounts = [run.manifest.collected.get(source, {}) for run in analysis.material.runs]
        lacking = [account for account in accounts if "what" in account]
        in_part = all("samples" in account for account in lacking)
        if in_part and not any(source in _sources(name) for name in unmeasured):
            continue
        for what, cure in dict.fromkeys((str(why["what"]), str(why["cure"])) for why in lacking):
            reason = f" in full: {what}; expected {cure}" if in_part else f": {what}"
            yield f"`{source}` was not sampled{reason}."


def _has(figure: str) -> Callable[[Point], bool]:
    """Whether a point has a value of it."""
    return lambda point: bool(point.values(figure))


def _sources(figure: str) -> tuple[str, ...]:
    """The collectors that a figure is worked out from."""
    counted = tuple(counter.source for counter in find_figure(figure).counted)
    sampled = map(Sampled.parse, figure.split(OVER))
    return (*counted, *(part.source for part in sampled if part is not None))
