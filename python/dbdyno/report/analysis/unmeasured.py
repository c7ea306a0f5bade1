"""What a study did not measure: cells without a complete run, and blocks that a cell lacks. It is
told before the answer, which speaks of the rest alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.design.cells import levels_key
from dbdyno.model import RunManifest
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import label

_MOST_NAMED = 4
_QUOTED = re.compile(r'"[^"]*"')
_AGAIN = re.compile(r"^not tried again: \S+ and \S+ were refused in the same words: ")


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A cell, or some blocks of it."""

    cell: str
    """By the levels that tell it apart."""
    levels: Mapping[str, str]
    reason: str
    blocks: tuple[int, ...] = ()
    """Those that it lacks, where it has others; empty: it has none."""


def not_measured(analysis: Analysis) -> tuple[NotMeasured, ...]:
    """All cells that lack something, in the study's order."""
    return tuple(_not_measured(analysis))


def sentences(found: tuple[NotMeasured, ...]) -> tuple[str, ...]:
    """The cells that were not measured at all, those with one reason together: messages that only
    differ in what they quote are one."""
    cells: dict[str, list[NotMeasured]] = {}
    for cell in found:
        if not cell.blocks:
            cells.setdefault(_QUOTED.sub('""', cell.reason), []).append(cell)
    return tuple(
        f"{_named([member.cell for member in members])}: not measured: {members[0].reason}."
        for members in cells.values()
    )


def _named(cells: list[str]) -> str:
    more = len(cells) - _MOST_NAMED
    several = len(cells) > 1 and any("," in cell for cell in cells)
    listed = [*cells[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return ("; " if several else ", ").join(listed)


def _not_measured(analysis: Analysis) -> Iterator[NotMeasured]:
    material = analysis.material
    absent = {levels_key(cell.levels): cell.missing for cell in material.left_out}
    stored = {run.manifest.id: run.manifest for run in material.runs}
    for cell in analysis.cells:
        planned = [run for run in material.plan.runs if run.cell.levels == cell.levels]
        lost = [run for run in planned if not _is_complete(stored.get(run.id))]
        if not lost:
            continue
        missing = absent.get(levels_key(cell.levels))
        if missing:
            why = "; ".join(lack.what for lack in missing)
        elif any(run.id in material.set_aside for run in lost):
            why = "its run is not as it was written, and set aside"
        else:
            why = _why([stored[run.id] for run in lost if run.id in stored])
        name = label(cell.levels, analysis.varying)
        blocks = () if len(lost) == len(planned) else tuple(run.block for run in lost)
        yield NotMeasured(name, cell.levels, why.rstrip("."), blocks)


def _is_complete(run: RunManifest | None) -> bool:
    return run is not None and run.status == "complete"


def _why(runs: list[RunManifest]) -> str:
    """The first error that a run ended with."""
    errors = [run.error.message for run in runs if run.error is not None]
    if errors:
        return _AGAIN.sub("", errors[0].splitlines()[0])
    return "its run was interrupted" if runs else "it was not run"
