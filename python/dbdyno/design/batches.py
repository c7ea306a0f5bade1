"""Which runs of a block are up at the same time, and in what order their turns are driven.

Noise of a machine drifts over seconds to minutes. Cells that are compared are therefore set up
together and driven in turns of a few seconds, wherever they can be up at the same time: the engine
loads them by the same script with the same options, and they ask for the same state of what every
process of the host sees. File systems, networks, limits and processors can be each run's own. With
`together = "all"` scripts and options may differ, since each cell has a server and data of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dbdyno.design.cells import cells
from dbdyno.model import OWN_HOST_PARTS, Cell, Order, Plan, PlannedRun, Study, Together
from dbdyno.model.study import BY_URL

LEAST_TURNS = 2
"""A step with fewer turns of each cell is one window: turns would not show their spread."""


def order_of(study: Study) -> Order:
    """The study's own order; by default turns if at least two cells can take them."""
    if study.design.order is not None:
        return study.design.order
    return "turns" if why_not_turns(study) is None else "runs"


def why_not_turns(study: Study) -> str | None:
    """Why a study's cells can't be driven in turns, for people; `None` if some of them can."""
    load, design = study.load, study.design
    if load.find_max is not None:
        return "each cell is searched at rates of its own"
    if load.faults or any(level.load.get("faults") for f in study.factors for level in f.levels):
        return "each cell's faults have the processors to themselves"
    if load.errors.may_end_load:
        return "an error may end the load of each cell at a time of its own"
    if load.measure_s is None or load.events is not None:
        return "a window that ends after a number of events can't be cut into turns"
    if load.measure_s < LEAST_TURNS * design.turn_s:
        return (
            f"the window of {load.measure_s:g} s holds fewer than {LEAST_TURNS} turns of "
            f"{design.turn_s:g} s"
        )
    matrix = cells(study)
    if len({together(cell, design.together) for cell in matrix}) == len(matrix):
        others = len({together(cell, "all") for cell in matrix}) < len(matrix)
        asked = ' (`together = "all"` in [design] lets cells differ in script and options)'
        return (
            "no two cells can be up together: they differ in script, options, tool, or in what "
            f"every process of the host sees{asked if others else ''}"
        )
    return None


def turns_of(study: Study) -> int:
    """Turns of each cell in a step: as many as fill the window, to the nearest whole number."""
    assert study.load.measure_s is not None
    return max(LEAST_TURNS, round(study.load.measure_s / study.design.turn_s))


def batches(plan: Plan, runs: Sequence[PlannedRun]) -> tuple[tuple[PlannedRun, ...], ...]:
    """`runs` of a plan, those that are up together in one batch, by their first one's position."""
    if plan.order == "runs":
        return tuple((run,) for run in runs)
    groups: dict[tuple[int, str], list[PlannedRun]] = {}
    for run in runs:
        groups.setdefault((run.block, together(run.cell, plan.together)), []).append(run)
    return tuple(tuple(group) for group in groups.values())


def together(cell: Cell, which: Together) -> str:
    """Cells with the same key can be up together; a tool can't pause, so it stays alone. Cells may
    share a server by URL, which can't hold the tables of several scripts or options."""
    alone = "" if cell.abilities.can_pause else json.dumps(_plain(cell.levels))
    host = sorted((name, wish) for name, wish in cell.host.items() if name not in OWN_HOST_PARTS)
    work = [cell.script, _plain(cell.options)]
    if which == "all" and not cell.provision.startswith(BY_URL):
        work = ["", []]
    return json.dumps([*work, host, alone, cell.most_clients])


def _plain(values: Mapping[str, object]) -> object:
    return sorted(values.items())
