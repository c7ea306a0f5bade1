"""A study's baseline compared with itself: the differences this machine shows where there are
none."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.design import cells
from dbdyno.design.batches import why_not_turns
from dbdyno.errors import UsageError
from dbdyno.formats.study import StudyFile
from dbdyno.model import Cell, Factor, Level, Study

ARM = "arm"
"""The factor whose two levels differ only in name."""

BLOCKS = 3
"""Number of set-ups: two would say little about how set-ups vary."""


def calibration(loaded: StudyFile, *, measured_s: float) -> StudyFile:
    """The study reduced to its baseline's cell, twice, in turns, at its largest load step.

    `measured_s`: seconds of load measured, over all blocks and both arms. Raises `UsageError` if
    the cell can't be driven in turns, or has time for fewer than two turns per block.
    """
    study = loaded.study
    window_s = measured_s / (2 * BLOCKS)
    least_s = 2 * study.design.turn_s
    if window_s < least_s:
        raise UsageError(
            f"{measured_s:g} s are too short for {BLOCKS} blocks of two turns of "
            f"{study.design.turn_s:g} s on each side",
            hint=f"--time {2 * BLOCKS * least_s:g}s is the least",
        )
    factors = tuple(_only(factor, study) for factor in study.factors)
    arms = Factor(ARM, (Level("one"), Level("two")))
    design = replace(
        study.design,
        blocks=BLOCKS,
        baseline={ARM: "one"},
        order="turns",
        twice={},
        twice_if_long={},
    )
    load = replace(study.load, clients=(max(study.load.clients),), measure_s=window_s, events=None)
    reduced = replace(
        study,
        name=f"calibrate-{study.name}",
        question=f"What differences does this machine show where there are none? ({study.name})",
        factors=(*factors, arms),
        load=load,
        design=design,
        source=None,
        answer=None,
        published=(),
        charts=(),
    )
    if (why := why_not_turns(reduced)) is not None:
        raise UsageError(
            f"`{study.name}` can't be driven in turns: {why}",
            hint="name a study whose load is the engine's",
        )
    return replace(loaded, study=reduced)


def baseline_cell(study: Study) -> Cell:
    """The cell that is calibrated: the baseline's, of the first levels otherwise."""
    named = study.design.baseline
    return next(cell for cell in cells(study) if named.items() <= dict(cell.levels).items())


def _only(factor: Factor, study: Study) -> Factor:
    """The factor with only the baseline's level, or else the first."""
    wanted = study.design.baseline.get(factor.name, factor.levels[0].name)
    return replace(factor, levels=tuple(level for level in factor.levels if level.name == wanted))
