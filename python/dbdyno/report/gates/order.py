"""Whether cells were measured in an order that drift can not follow."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.design.batches import batches
from dbdyno.design.cells import levels_key
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge


def _order(analysis: Analysis) -> Gate:
    started = sorted(analysis.material.runs, key=lambda run: run.manifest.started_unix_s)
    positions = [run.manifest.position for run in started]
    plan = analysis.material.plan
    seed, present = plan.seed, set(positions)
    drawn = [run.position for batch in batches(plan, plan.runs) for run in batch]
    if len({run.cell.label for run in analysis.material.plan.runs}) < 2:
        return Gate("Order", "ok", "One cell: there is no order to randomise.")
    if positions != [position for position in drawn if position in present]:
        text = f"Runs were not carried out in the order drawn from seed {seed}: {positions}."
        return Gate("Order", "doubtful", text)
    one_sided = list(_one_sided(analysis))
    if one_sided:
        return Gate("Order", "doubtful", f"Drift may look like an effect: {one_sided[0]}.")
    text = f"Every cell once a block, in balanced orders drawn from seed {seed} and kept."
    return Gate("Order", "ok", text)


def _one_sided(analysis: Analysis) -> Iterable[str]:
    """Comparisons whose one side came first in two blocks more than the other did.

    Cells of one batch are up together, and none comes first; their turns are balanced by plan.
    """
    plan = analysis.material.plan
    places = {
        (levels_key(run.cell.levels), run.block): place
        for place, batch in enumerate(batches(plan, plan.runs))
        for run in batch
    }
    for comparison in analysis.comparisons:
        cell, base = (
            levels_key(point.cell.levels) for point in (comparison.point, comparison.baseline)
        )
        apart = [b for b in comparison.blocks if places[cell, b] != places[base, b]]
        after = [places[cell, b] > places[base, b] for b in apart]
        if abs(2 * sum(after) - len(after)) > 1 and len(after) > 1:
            yield (
                f"{comparison.point.label} ran after {comparison.baseline.label} in {sum(after)} "
                f"of {len(after)} blocks"
            )


GATE = Judge(50, _order, needs="order")
