"""Whether the engine was fast enough not to set the pace."""

from __future__ import annotations

from dbdyno.model import abilities, named_shards
from dbdyno.model.limits import SATURATED
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.faults import engine_busy
from dbdyno.report.material.host_limits import clients_limit
from dbdyno.report.terms.wording import percent, quantity

BUSY = 0.85
"""Share of its shards' time above which the engine itself may set the pace."""


def _generator(analysis: Analysis) -> Gate:
    names = sorted({run.manifest.generator for run in analysis.material.runs})
    if tools := [name for name in names if not abilities(name).tells_own_cpu]:
        text = f"{', '.join(tools)} put the load on; its own use of processors is not judged."
        return Gate("Load generator", "not judged", text)
    worst, queued_us, unread_us, inside = 0.0, 0.0, 0.0, False
    ways: dict[str, None] = {}
    for run in analysis.material.runs:
        for step in run.manifest.steps:
            summary = run.summaries.get(step.index)
            inside = inside or step.reactor == "none"
            if summary is None or not summary.window_s or step.reactor == "none":
                continue
            scheduling, clock = step.scheduling or "other", step.clock or "kernel"
            shards = named_shards(step.shards or 1, bound=bool(step.shards_bound))
            way = f"{shards}, {step.reactor}, {scheduling} scheduling, the {clock}'s clock"
            limit_cpus = clients_limit(run)
            ways[way if limit_cpus is None else f"{way}, limited to {limit_cpus:g} processors"] = (
                None
            )
            worst = max(worst, engine_busy(run, summary))
            queued_us = max(queued_us, summary.queued_us.get("p99", 0.0))
            unread_us = max(unread_us, summary.unread_us.get("p99", 0.0))
    if inside:
        text = "The database runs inside the client's process: they share its CPU by nature."
        return Gate("Load generator", "not judged", text)
    text = f"At most {percent(worst)} of its shards' CPU time was used ({'; '.join(ways)})."
    if unread_us:
        text += (
            f" At worst, 1 % of statements lay ready for {quantity(queued_us, 'µs')} or longer "
            f"before they were sent, and 1 % of replies unread for {quantity(unread_us, 'µs')} or "
            "longer."
        )
    if worst > SATURATED:
        return Gate("Load generator", "failed", f"{text} The client set the pace.")
    if worst > BUSY:
        return Gate("Load generator", "doubtful", f"{text} The client may have set the pace.")
    return Gate("Load generator", "ok", text)


GATE = Judge(120, _generator, needs="host")
