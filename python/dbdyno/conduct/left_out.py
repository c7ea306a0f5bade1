"""Cells whose host settings this machine can't have: they are left out, and the others measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.conduct.topology import hosts_of_members
from dbdyno.design.cells import LevelsKey, levels_key
from dbdyno.errors import MachineError
from dbdyno.model import Cell, LeftOut, Missing, Plan, PlannedRun
from dbdyno.setters.outfit import missing_of_host


def lacking_cells(plan: Plan) -> tuple[LeftOut, ...]:
    """The cells of a plan that this machine can't run, with what it lacks for them."""
    asked: dict[str, tuple[Missing, ...]] = {}
    """By the settings: some are tried out to know."""
    found = []
    for cell in _cells(plan).values():
        members = hosts_of_members(cell)
        text = repr((sorted(cell.host.items()), sorted(members.items())))
        if text not in asked:
            wishes = (cell.host, *members.values())
            every = (missing for wish in wishes for missing in _missing(wish))
            asked[text] = tuple(dict.fromkeys(every))
        if asked[text]:
            found.append(LeftOut(cell.levels, asked[text]))
    return tuple(found)


def runs_without(plan: Plan, lacking: Sequence[LeftOut]) -> tuple[PlannedRun, ...]:
    """The runs of all other cells."""
    keys = {levels_key(cell.levels) for cell in lacking}
    return tuple(run for run in plan.runs if levels_key(run.cell.levels) not in keys)


def why_nothing_to_run(
    plan: Plan, baseline: Mapping[str, str], lacking: Sequence[LeftOut]
) -> MachineError | None:
    """The error where no cell is left, or none that others are compared with; `None`: measure."""
    every, keys = _cells(plan), {levels_key(cell.levels) for cell in lacking}
    bases = {
        key
        for cell in every.values()
        if (key := levels_key({**cell.levels, **baseline})) in every
        and key != levels_key(cell.levels)
    }
    if not lacking or (keys < every.keys() and not (bases and bases <= keys)):
        return None
    things = dict.fromkeys(missing for cell in lacking for missing in cell.missing)
    first = next(iter(things)).what
    if keys < every.keys():
        named = ", ".join(f"`{level}`" for level in baseline.values())
        first = f"nothing can be compared, since the baseline ({named}) can't be run here: {first}"
    return MachineError(first, hint="\n".join(f"{lack.what}: {lack.cure}" for lack in things))


def _missing(wishes: Mapping[str, object]) -> tuple[Missing, ...]:
    """Named after the setting."""
    return tuple(
        Missing(f"host.{name}: {lack.what}", lack.cure)
        for name, missing in missing_of_host(wishes).items()
        for lack in missing
    )


def _cells(plan: Plan) -> Mapping[LevelsKey, Cell]:
    return {levels_key(run.cell.levels): run.cell for run in plan.runs}
