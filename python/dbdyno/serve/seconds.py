"""What stored runs measured, second by second: their intervals, and what was sampled beside them.

Arrow takes a fifth of a second to import, so it is imported for the pages of stored runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbdyno.model import Metric
from dbdyno.serve.inside import Inside
from dbdyno.serve.panels import LOAD, MOST_POINTS, Lines, Panel
from dbdyno.serve.plan import declaration, list_of, number_of, read_json, text_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_LINES = 24
"""Instances of a metric that are drawn, the first by name."""
_SERIES, _METRICS = "series.parquet", "metrics.parquet"
_RESPONSES = {"p50": "response_ns_p50", "p95": "response_ns_p95", "p99": "response_ns_p99"}
_PANELS = {panel.name: panel for panel in LOAD}

Place = tuple[str, str]
"""Study, and folder of a run."""


def known_metrics(inside: Inside, place: Place) -> Mapping[str, Metric]:
    """`source.metric` → metric of everything that was sampled; none where that can't be read."""
    _, known = _metrics(inside, place)
    return {f"{source}.{name}": m for source, all_ in known.items() for name, m in all_.items()}


def load_lines(inside: Inside, place: Place, cell: str) -> Lines:
    """Throughput, response times and errors of a run's steps, warm-up included."""
    lines = Lines()
    starts_s = _starts_s(inside, place)
    for row in _rows(inside, place):
        start_s = starts_s.get(row["step"])
        if start_s is not None and row["phase"] in ("warm-up", "measure"):
            for panel, value in _values(row):
                lines.add(panel, cell, start_s + row["end_s"], value)
    return lines


def metric_lines(inside: Inside, place: Place, name: str, metric: Metric) -> Lines:
    """A line for each instance of the metric `name` (`source.metric`): counters per second."""
    import pyarrow.compute as pc

    lines = Lines()
    unit = f"{metric.unit}/s" if metric.kind == "counter" else metric.unit
    source, _, short = name.partition(".")
    panel = Panel(name, f"{source}: {metric.text}", unit)
    table, _ = _metrics(inside, place)
    if table is None:
        return lines
    is_metric = pc.and_(pc.equal(table["source"], source), pc.equal(table["metric"], short))
    rows = table.filter(is_metric).sort_by("unix_ns")
    instances = sorted(name for name in pc.unique(rows["instance"]).to_pylist() if name is not None)
    for instance in instances[:MOST_LINES]:
        of_instance = rows.filter(pc.equal(rows["instance"], instance))
        columns = (of_instance[name].to_pylist() for name in ("unix_ns", "value"))
        points = list(zip(*columns, strict=True))
        points = points[:: 1 + len(points) // MOST_POINTS]
        for at_ns, value in _rates(points) if metric.kind == "counter" else points:
            lines.add(panel, instance, at_ns / 1e9, value)
    return lines


def aligned(inside: Inside, study: str, cell: str, clients: int) -> Mapping[str, Lines]:
    """Panel → the means over the runs of a cell at a load, by seconds since the window began; of
    turns, by the seconds that the clients were driven."""
    sums: dict[tuple[str, int], list[float]] = {}
    ends_s: dict[int, list[float]] = {}
    for run in _complete(inside, study, cell):
        steps = _steps_with(inside, (study, run), clients)
        at_s, number = 0.0, 0
        for row in _rows(inside, (study, run)):
            if row["step"] in steps and row["phase"] == "measure":
                at_s += row["end_s"] - row["start_s"]
                ends_s.setdefault(number, []).append(at_s)
                for panel, value in _values(row):
                    sums.setdefault((panel.name, number), []).append(value)
                number += 1
    panels: dict[str, Lines] = {}
    for (name, number), values in sorted(sums.items()):
        lines = panels.setdefault(name, Lines())
        lines.add(_PANELS[name], "", _mean(ends_s[number]), _mean(values))
    return panels


def _complete(inside: Inside, study: str, cell: str) -> Iterator[str]:
    """Folders of the complete runs of a cell, as a study's page names it."""
    names = {run.run for run in declaration(inside, study).runs if run.cell == cell}
    for folder in sorted(inside.folders(study, "runs")):
        manifest = read_json(inside, study, "runs", folder, "manifest.json")
        if manifest.get("status") == "complete" and text_of(manifest.get("id")) in names:
            yield folder


def _steps_with(inside: Inside, place: Place, clients: int) -> set[int]:
    steps = list_of(_manifest(inside, place).get("steps"))
    return {
        int(number_of(step.get("index")))
        for step in steps
        if isinstance(step, dict) and number_of(step.get("clients")) == clients
    }


def _starts_s(inside: Inside, place: Place) -> Mapping[int, float]:
    """Step → the wall clock at the origin of its times."""
    steps = list_of(_manifest(inside, place).get("steps"))
    return {
        int(number_of(step.get("index"))): number_of(step.get("engine_start_unix_ns")) / 1e9
        for step in steps
        if isinstance(step, dict) and step.get("engine_start_unix_ns")
    }


def _manifest(inside: Inside, place: Place) -> Mapping[str, object]:
    study, run = place
    return read_json(inside, study, "runs", run, "manifest.json")


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
