"""What stored runs measured, second by second: their intervals, and what was sampled beside them.

Arrow takes a fifth of a second to import, so it is imported for the pages of stored runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from dbdyno.model import Metric
from dbdyno.serve.inside import Inside
from dbdyno.serve.panels import LOAD, LOADED, MOST_POINTS, Lines, Panel
from dbdyno.serve.plan import Json, declaration, list_of, number_of, read_json, text_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_LINES = 24
"""Instances of a metric that are drawn, the first by name."""
_SERIES, _METRICS = "series.parquet", "metrics.parquet"
_RESPONSES = {"p50": "response_ns_p50", "p95": "response_ns_p95", "p99": "response_ns_p99"}
_PANELS = {panel.name: panel for panel in LOAD}

_Point = TypeVar("_Point")

Place = tuple[str, str]
"""Study, and folder of a run."""


@dataclass(frozen=True, slots=True)
class _CellAtLoad:
    """A cell, as a study's page names it, at a number of clients."""

    cell: str
    clients: int


def known_metrics(inside: Inside, place: Place) -> Mapping[str, Metric]:
    """`source.metric` → metric of everything that was sampled; none where that can't be read."""
    _, known = _metrics(inside, place)
    return {f"{source}.{name}": m for source, all_ in known.items() for name, m in all_.items()}


def load_lines(inside: Inside, place: Place, cell: str) -> Lines:
    """Throughput, response times and errors of a run's steps, warm-up included."""
    lines = Lines()
    starts_s = _starts_s(inside, place)
    for row in _thinned(_rows(inside, place)):
        start_s = starts_s.get(row["step"])
        if start_s is not None and row["phase"] in LOADED:
            for panel, value in _values(row):
                lines.add(panel, cell, start_s + row["end_s"], value)
    return lines


def metric_lines(inside: Inside, place: Place, name: str) -> Lines | None:
    """A line for each instance of the metric `name` (`source.metric`): counters per second; `None`
    if nothing of that name was sampled."""
    import pyarrow.compute as pc

    lines = Lines()
    source, _, short = name.partition(".")
    table, known = _metrics(inside, place)
    metric = known.get(source, {}).get(short)
    if table is None or metric is None:
        return None
    unit = f"{metric.unit}/s" if metric.kind == "counter" else metric.unit
    panel = Panel(name, f"{source}: {metric.text}", unit)
    is_metric = pc.and_(pc.equal(table["source"], source), pc.equal(table["metric"], short))
    rows = table.filter(is_metric).sort_by("unix_ns")
    instances = sorted(name for name in pc.unique(rows["instance"]).to_pylist() if name is not None)
    for instance in instances[:MOST_LINES]:
        of_instance = rows.filter(pc.equal(rows["instance"], instance))
        columns = (of_instance[name].to_pylist() for name in ("unix_ns", "value"))
        points = _thinned(list(zip(*columns, strict=True)))
        for at_ns, value in _rates(points) if metric.kind == "counter" else points:
            lines.add(panel, instance, at_ns / 1e9, value)
    return lines


def overlay(inside: Inside, sides: Mapping[str, str], cell: str, clients: int) -> Lines:
    """A cell at a load in several studies, given by the names of their lines: means over its runs,
    by seconds since the window began; of turns, by the seconds that the clients were driven."""
    lines = Lines()
    for side, study in sides.items():
        _add_means(lines, side, inside, study, _CellAtLoad(cell, clients))
    return lines


def _add_means(lines: Lines, side: str, inside: Inside, study: str, load: _CellAtLoad) -> None:
    sums: dict[tuple[str, int], list[float]] = {}
    ends_s: dict[int, list[float]] = {}
    for run, steps in _complete(inside, study, load):
        at_s, number = 0.0, 0
        for row in _rows(inside, (study, run)):
            if row["step"] in steps and row["phase"] == "measure":
                at_s += row["end_s"] - row["start_s"]
                ends_s.setdefault(number, []).append(at_s)
                for panel, value in _values(row):
                    sums.setdefault((panel.name, number), []).append(value)
                number += 1
    for number in _thinned(sorted(ends_s)):
        for name, panel in _PANELS.items():
            if values := sums.get((name, number)):
                lines.add(panel, side, _mean(ends_s[number]), _mean(values))


def _complete(inside: Inside, study: str, load: _CellAtLoad) -> Iterator[tuple[str, set[int]]]:
    """Folders of the complete runs of a cell, and their steps with so many clients."""
    names = {run.run for run in declaration(inside, study).runs if run.cell == load.cell}
    for folder in sorted(inside.folders(study, "runs")):
        manifest = read_json(inside, study, "runs", folder, "manifest.json")
        if manifest.get("status") == "complete" and text_of(manifest.get("id")) in names:
            yield folder, _steps_with(manifest, load.clients)


def _steps_with(manifest: Json, clients: int) -> set[int]:
    return {
        int(number_of(step.get("index")))
        for step in list_of(manifest.get("steps"))
        if isinstance(step, dict) and number_of(step.get("clients")) == clients
    }


def _starts_s(inside: Inside, place: Place) -> Mapping[int, float]:
    """Step → the wall clock at the origin of its times."""
    study, run = place
    steps = list_of(read_json(inside, study, "runs", run, "manifest.json").get("steps"))
    return {
        int(number_of(step.get("index"))): number_of(step.get("engine_start_unix_ns")) / 1e9
        for step in steps
        if isinstance(step, dict) and step.get("engine_start_unix_ns")
    }


def _values(row: Mapping[str, Any]) -> Iterator[tuple[Panel, float]]:
    length_s = row["end_s"] - row["start_s"]
    if length_s <= 0:
        return
    yield _PANELS["throughput"], row["events"] / length_s
    yield _PANELS["errors"], row["errors"] / length_s
    for name, column in _RESPONSES.items():
        if row[column] is not None:
            yield _PANELS[name], row[column] / 1e6


def _rates(points: Sequence[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """A counter's rises per second; none where it fell or the clock stood."""
    for (before_ns, before), (at_ns, value) in pairwise(points):
        if at_ns > before_ns and value >= before:
            yield at_ns, (value - before) / ((at_ns - before_ns) / 1e9)


def _thinned(points: Sequence[_Point]) -> Sequence[_Point]:
    """Every second, third, … of more than `MOST_POINTS`, which is what a browser keeps."""
    return points[:: max(1, -(-len(points) // MOST_POINTS))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rows(inside: Inside, place: Place) -> Sequence[Mapping[str, Any]]:
    import pyarrow as pa

    from dbdyno.store.series import from_parquet

    study, run = place
    try:
        rows = from_parquet(inside.read(study, "runs", run, _SERIES)).to_pylist()
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return ()
    needed = ("step", "start_s", "end_s", "events", "errors")
    return [row for row in rows if all(row[name] is not None for name in needed)]


def _metrics(
    inside: Inside, place: Place
) -> tuple[pa.Table | None, Mapping[str, Mapping[str, Metric]]]:
    import pyarrow as pa

    from dbdyno.store.metrics import from_parquet

    study, run = place
    try:
        return from_parquet(inside.read(study, "runs", run, _METRICS))
    except (OSError, KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return None, {}
