"""What faults cost: outages as the probes met them, lost commits, and the load before, during and
after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dbdyno.formats.quantities import parse_duration
from dbdyno.model import Cell, StepSummary
from dbdyno.model.fault import LEDGER, PROBES, FaultResult, at_rank
from dbdyno.model.patroni import bound_s
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.material.material import StepSeries
from dbdyno.report.sections.comparison_tables import LEAD, lead
from dbdyno.report.sections.outcomes import whole_percent
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number
from dbdyno.stats import Share

_WORDS: Mapping[str, str] = {
    "write": "writes",
    "read": "reads",
    "connect": "new connections",
    LEDGER: "writes of the ledger",
}
_BACK = "all members"
_HELD_INTERVALS = 3
"""Intervals in a row that must reach the rate for it to count as back."""
_RECOVERED = 0.9


def outage_tables(analysis: Analysis) -> Iterator[Table]:
    """Yields no table where no server met a fault."""
    if any(faults_of(point) for point in analysis.points):
        yield outages_table(analysis)
        if any(_has_ledger(point) or commits(point, "lost") for point in analysis.points):
            yield losses_table(analysis)
        yield phases_table(analysis)


def faults_of(point: Point) -> tuple[FaultResult, ...]:
    """The faults of all counted blocks."""
    return tuple(fault for block in point.counted for fault in block.summary.faults)


def outages_s(faults: Iterable[FaultResult], kind: str) -> list[float]:
    """The outages of a probe."""
    return [fault.outage_ms[kind] / 1e3 for fault in faults if kind in fault.outage_ms]


def commits(point: Point, what: Literal["lost", "in_doubt"]) -> int:
    """Commits of the probes in all counted blocks."""
    return sum(int(block.summary.figures.get(f"{what}_commits", 0)) for block in point.counted)


def outages_table(analysis: Analysis) -> Table:
    """A row for each cell and probe: its outages over all faults; and one for how long a member was
    missing."""
    rows: list[tuple[Value, ...]] = []
    promotes = any(fault.promoted for point in analysis.points for fault in faults_of(point))
    bound = Column("The proxy notices within, s", "noticed_within_s", number)
    if promotes:
        bound = Column("A replica was primary within, s", "promoted_within_s", number)
    for point in analysis.points:
        faults = faults_of(point)
        for kind in (*PROBES, *([LEDGER] if _has_ledger(point) else [])):
            lengths = outages_s(faults, kind)
            own: list[Value] = [None, None, None]
            if kind == "write":
                within_s = promoted_within_s(faults) or noticed_within_s(point.cell)
                own = [within_s, commits(point, "lost"), commits(point, "in_doubt")]
            rows.append((*lead(point), _WORDS[kind], len(lengths), *_spread(lengths), *own))
        missing = [(fault.back_ns - fault.at_ns) / 1e9 for fault in faults]
        rows.append((*lead(point), _BACK, len(missing), *_spread(missing), None, None, None))
    columns = (
        *LEAD,
        Column("Without", "without"),
        Column("Faults", "faults", count),
        Column("Shortest, s", "shortest_s", number),
        Column("Median, s", "median_s", number),
        Column("p95, s", "p95_s", number),
        Column("Longest, s", "longest_s", number),
        bound,
        Column("Lost commits", "lost_commits", count),
        Column("In doubt", "in_doubt", count),
    )
    title = "Outages: from the last success of a probe to the next, over all faults"
    return Table("outages", title, columns, tuple(rows))


def losses_table(analysis: Analysis) -> Table:
    """A row for each cell: acknowledged commits that are not there, by faults that lost some."""
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        lost = [fault.lost_commits for fault in faults_of(point)]
        if not lost:
            continue
        written = sum(b.summary.figures.get("ledger_commits", 0) for b in point.counted)
        share = Share(sum(1 for number in lost if number), len(lost))
        oldest_ms = max(fault.oldest_lost_ms for fault in faults_of(point))
        row = (written or None, share.trials, share.found, share.bound())
        rows.append((*lead(point), *row, sum(lost), max(lost), oldest_ms if share.found else None))
    columns = (
        *LEAD,
        Column("Commits of the ledger", "ledger_commits", count),
        Column("Faults", "faults", count),
        Column("Faults that lost some", "faults_with_losses", count),
        Column("in %, 95 %", "losses_95", whole_percent, pair=True),
        Column("Lost commits", "lost_commits", count),
        Column("Most by one fault", "most_lost", count),
        Column("Reached back, ms", "oldest_lost_ms", number),
    )
    title = (
        "Acknowledged commits that faults lost; where none did, at most 3/n of such faults do, "
        "else Wilson's interval"
    )
    return Table("losses", title, columns, tuple(rows))


def _has_ledger(point: Point) -> bool:
    return any("ledger_commits" in block.summary.figures for block in point.counted)


def promoted_within_s(faults: Iterable[FaultResult]) -> float | None:
    """The longest time from a fault until a promoted replica took writes, by the lab's clock;
    `None` if none was promoted."""
    lengths = [fault.promoted_ms for fault in faults if fault.promoted_ms is not None]
    return max(lengths) / 1e3 if lengths else None


def noticed_within_s(cell: Cell) -> float | None:
    """How long HAProxy may take to notice a dead server, by its settings, after another has become
    the primary where Patroni chooses it; `None` without it."""
    proxy: Mapping[str, Any] = cell.proxy
    if proxy.get("kind") != "haproxy":
        return None
    settings: Mapping[str, Any] = proxy.get("settings", {})
    every = str(settings.get("inter", "2000"))
    every_s = float(every) / 1e3 if every.isdecimal() else parse_duration(every)
    chosen_s = bound_s(cell.topology) if cell.topology.get("name") == "patroni" else 0
    return chosen_s + every_s * int(settings.get("fall", 3))


def phases_table(analysis: Analysis) -> Table:
    """The load before the first fault, while a member was missing, and when all were back."""
    rows: list[tuple[Value, ...]] = []
    series = {run.manifest.id: run.series for run in analysis.material.runs}
    for point in analysis.points:
        blocks = [
            _Disturbed(block.summary, series[block.run_id][point.step])
            for block in point.counted
            if block.summary.faults and point.step in series[block.run_id]
        ]
        if not blocks:
            continue
        rates = [_by_phase(block) for block in blocks]
        again = [s for block in blocks for s in _recoveries_s(block)]
        means = [_mean([rate[phase] for rate in rates]) for phase in range(3)]
        errors = Counter[str]()
        for block in blocks:
            errors.update(block.summary.probe_errors)
        codes = ", ".join(f"{code}: {times}" for code, times in sorted(errors.items()))
        median = float(np.median(again)) if again else None
        rows.append((*lead(point), *means, median, codes))
    columns = (
        *LEAD,
        Column("Before, events/s", "before_per_s", number),
        Column("A member missing, events/s", "during_per_s", number),
        Column("All back, events/s", "after_per_s", number),
        Column("Median to 90 % of before, s", "recovered_s", number),
        Column("Errors of probes by code", "probe_errors"),
    )
    return Table("phases", "The load before, during and after faults", columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Disturbed:
    """A step with faults, interval by interval."""

    summary: StepSummary
    series: StepSeries


def _spread(lengths: list[float]) -> list[Value]:
    if not lengths:
        return [None] * 4
    return [min(lengths), at_rank(lengths, 0.5), at_rank(lengths, 0.95), max(lengths)]


def _mean(values: list[float]) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else None


def _during(block: _Disturbed, start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> Any:
    """Which intervals a fault lasted in."""
    lasts = np.zeros(start_s.size, dtype=bool)
    for fault in block.summary.faults:
        lasts |= (end_s > fault.at_ns / 1e9) & (start_s < fault.back_ns / 1e9)
    return lasts


def _by_phase(block: _Disturbed) -> tuple[float, float, float]:
    """Mean rates before, during and after; NaN where there is no interval."""
    series = block.series
    end_s = series.start_s + series.length_s
    during = _during(block, series.start_s, end_s) & series.measured
    before = series.measured & (end_s <= block.summary.faults[0].at_ns / 1e9)
    after = series.measured & ~during & ~before
    rates = []
    for phase in (before, during, after):
        length_s = series.length_s[phase].sum()
        events = (series.events_per_s[phase] * series.length_s[phase]).sum()
        rates.append(float(events / length_s) if length_s else float("nan"))
    return rates[0], rates[1], rates[2]


def _recoveries_s(block: _Disturbed) -> Iterator[float]:
    """From each fault to the first interval after it from which the rate is back for a while."""
    series = block.series
    before = _by_phase(block)[0]
    if not np.isfinite(before):
        return
    fine = series.events_per_s >= _RECOVERED * before
    for fault in block.summary.faults:
        at_s = fault.at_ns / 1e9
        later = np.flatnonzero(series.start_s >= at_s)
        for place in later[: later.size - _HELD_INTERVALS + 1]:
            if fine[place : place + _HELD_INTERVALS].all():
                yield float(series.start_s[place] - at_s)
                break
