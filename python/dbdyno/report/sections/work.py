"""Who did the work: processor time of the clients, of proxies and of each server of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdyno.model import StepSummary
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.material.host_limits import clients_limit, limit_of
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.material.sampled import MEMBERS, per_event, processor_time, stretches_of
from dbdyno.report.terms.table import Column, Table, Value, estimated
from dbdyno.report.terms.wording import count, number, percent
from dbdyno.stats import estimate

_SIDES = {"client": "clients", "proxy": "proxies"}
"""Instance of the source `process` → who that is."""


def work_tables(analysis: Analysis) -> Iterator[Table]:
    """A row for each party of a cell at a load; only of cells with several servers. What each may
    take stands beside it where any of them has a limit."""
    runs = {run.manifest.id: run for run in analysis.material.runs}
    rows = [row for point in analysis.points for row in _rows(analysis, point, runs)]
    columns = [
        Column("Cell", "cell"),
        Column("Clients", "clients", count),
        Column("Who", "who"),
        Column("Processor time per event, µs", "cpu_us_per_event", number, estimate=True),
        Column("Processors kept busy", "processors", number),
        Column("Share", "share", percent),
        Column("Processors allowed", "allowed", number),
    ]
    if all(row[-1] is None for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if rows:
        yield Table("work", "Who did the work", tuple(columns), tuple(rows))


def _rows(
    analysis: Analysis, point: Point, runs: Mapping[str, RunMaterial]
) -> Iterator[tuple[Value, ...]]:
    by_party: dict[str, list[float]] = {}
    allowed: dict[str, float | None] = {}
    rates: list[float] = []
    for block in point.counted:
        times = _of_step(analysis, runs[block.run_id], block.summary)
        for who, us in times.items():
            by_party.setdefault(who, []).append(us)
            allowed[who] = _limit_of(runs[block.run_id], who)
        if times:
            rates.append(block.summary.events / block.summary.window_s)
    means = {who: sum(values) / len(values) for who, values in by_party.items()}
    whole = sum(means.values())
    for who, values in by_party.items():
        busy = means[who] * sum(rates) / len(rates) / 1e6
        share = means[who] / whole if whole else None
        figures = (estimated(estimate(values)), busy, share, allowed[who])
        yield (point.label, point.clients, who, *figures)


def _limit_of(run: RunMaterial, who: str) -> float | None:
    """Processors that a party was allowed; `None`: any."""
    side = next((side for side, party in _SIDES.items() if party == who), who)
    return clients_limit(run) if side == "client" else limit_of(run, side)


def _of_step(analysis: Analysis, run: RunMaterial, summary: StepSummary) -> Mapping[str, float]:
    """Party → processor time per event, µs; empty if the run had a single server."""
    stretches = stretches_of(run, analysis.material.study, summary)
    names = run.samples.series.get((MEMBERS, "user_s"), {})
    asked = [(who, processor_time("process", side)) for side, who in _SIDES.items()]
    asked += [(name, processor_time(MEMBERS, name)) for name in names]
    times = {who: per_event(run, stretches, [counted]) for who, counted in asked if names}
    return {who: us for who, us in times.items() if us is not None}
