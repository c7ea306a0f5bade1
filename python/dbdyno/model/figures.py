"""The figures a study may choose as primary: one list, for files, verdicts, tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dbdyno.model.result import PERCENTILES, StepSummary


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one step of one run."""

    title: str
    unit: str
    higher_is_better: bool
    read: Callable[[StepSummary], float | None]
    """`None` where it wasn't measured."""
    least_events: int = 1
    """Events below which a step says nothing of it: ten beyond the rank of a percentile."""
    rate: bool = False
    """More of it is "faster"."""

    def factor(self, unit: str) -> float | None:
        """What a value is multiplied by to be in `unit`, as somebody else may have told it; `None`
        where that makes no sense. Empty is the figure's own; rates may be per minute or hour."""
        if unit in ("", self.unit):
            return 1.0
        if self.unit == "µs":
            return _OF_A_MICROSECOND.get(unit)
        if unit in _OF_A_MICROSECOND:
            return None
        per = unit.rpartition("/")[2]
        return {"min": 60.0, "h": 3600.0}.get(per, 1.0) if self.rate else 1.0


_OF_A_MICROSECOND = {"us": 1.0, "µs": 1.0, "ms": 1e-3, "s": 1e-6, "min": 1 / 60e6}


def find_figure(name: str) -> Figure:
    """A figure by the name studies use: one of `FIGURES`, or one that only a tool tells.

    Raises `KeyError` for a name that neither can have: a tool's figures end in a unit, which says
    whether more of it is better (`read_iops`, `write_bytes_per_s`, `read_us_p99.reader`).
    """
    if name in FIGURES:
        return FIGURES[name]
    for mark, (unit, better) in _TOOL_UNITS.items():
        if mark in name.partition(".")[0]:
            return Figure(
                name.replace("_", " "), unit, better, lambda s: s.figures.get(name), rate=better
            )
    raise KeyError(name)


_TOOL_UNITS: Mapping[str, tuple[str, bool]] = {
    "_iops": ("operations/s", True),
    "_per_s": ("/s", True),
    "_us": ("µs", False),
    "_ms": ("ms", False),
}


def _latency(name: str) -> Callable[[StepSummary], float | None]:
    return lambda summary: summary.latency_us.get(name)


def _percentile(name: str, rank: float) -> Figure:
    least = round(10 / (1 - rank / 100))
    return Figure(f"Response time, {name}", "µs", False, _latency(name), least_events=least)


FIGURES: Mapping[str, Figure] = {
    "throughput": Figure("Throughput", "events/s", True, lambda s: s.events_per_s, rate=True),
    "statements_per_s": Figure(
        "Statement rate", "statements/s", True, lambda s: s.statements_per_s, rate=True
    ),
    **{name: _percentile(name, rank) for name, rank in PERCENTILES.items()},
    "max": Figure("Response time, max", "µs", False, _latency("max")),
    "client_cpu": Figure(
        "Client CPU per statement", "µs", False, lambda s: s.client_cpu_us_per_statement
    ),
}
