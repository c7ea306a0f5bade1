"""Exports a study in formats of other programs: Go's benchmark format, CSV, JSON, YCSB's results
and HdrHistogram logs.

A row is one step of one run. Nothing is averaged or judged.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from dbdyno.design.cells import cells
from dbdyno.errors import UsageError
from dbdyno.formats.ycsb import ycsb_text
from dbdyno.model import FIGURES, Imported, StepSummary, find_figure
from dbdyno.report.analysis.points import BlockFigures, Point, points_of
from dbdyno.report.analysis.sides import open_side, place
from dbdyno.report.material.gather import gather, latency_log
from dbdyno.report.material.imported import imports
from dbdyno.report.material.material import Material

SCHEMA = 1

_UNFIT = re.compile(r"[^\w.+%-]+")
_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Row:
    """One step of one run."""

    run: str
    cell: Mapping[str, str]
    block: int
    clients: int
    started_unix_s: float
    complete: bool
    left_out: tuple[str, ...]
    """Why it is excluded from verdicts although it is complete."""
    window_s: float
    events: int
    errors: int
    figures: Mapping[str, float]
    """By the names that `compare --metric` takes; those that were measured."""
    summary: StepSummary


@dataclass(frozen=True, slots=True)
class Exported:
    """A study, or a part of it."""

    store: Path
    study: str
    scale: str
    question: str
    versions: Mapping[str, str]
    """Of the runs, those that are the same in all."""
    imported: tuple[Imported, ...]
    rows: tuple[Row, ...]


def exported(store: Path, name: str) -> Exported:
    """`STUDY`, `STUDY/CELL` or `STUDY/RUN`, as `compare` takes them. Raises `LabError`."""
    root, study, cell = place(store, name)
    if cell is None:
        material = gather(root, study)
        return _exported(root, study, material, points_of(material, cells(material.study)))
    side = open_side(store, name)
    if side.window is not None:
        raise UsageError(f"`{name}`: whole steps are exported; leave out the window of time")
    material = gather(root, study)
    return _exported(root, study, material, side.points)


def _exported(root: Path, study: str, material: Material, points: Iterable[Point]) -> Exported:
    started = {run.manifest.id: run.manifest.started_unix_s for run in material.runs}
    rows = tuple(
        _row(point, figures, started[figures.run_id])
        for point in points
        for figures in point.blocks
    )
    of_runs = [run.manifest.versions for run in material.runs]
    shared = (
        set.intersection(*(set(versions.items()) for versions in of_runs)) if of_runs else set()
    )
    versions = {name: value for name, value in sorted(shared) if value}
    return Exported(
        root,
        study,
        material.study.scale,
        material.study.question,
        versions,
        tuple(imports(material.runs)),
        rows,
    )


def _row(point: Point, figures: BlockFigures, started_unix_s: float) -> Row:
    summary = figures.summary
    return Row(
        run=figures.run_id,
        cell=dict(point.cell.levels),
        block=figures.block,
        clients=point.clients,
        started_unix_s=started_unix_s,
        complete=figures.counted,
        left_out=figures.faults,
        window_s=summary.window_s,
        events=summary.events,
        errors=summary.errors,
        figures=dict(_measured(summary)),
        summary=summary,
    )


def _measured(summary: StepSummary) -> Iterable[tuple[str, float]]:
    for name in dict.fromkeys((*FIGURES, *summary.figures)):
        value = FIGURES[name].read(summary) if name in FIGURES else summary.figures[name]
        # A tool that tells no statements has not counted them.
        if value is not None and (name != "statements_per_s" or summary.statements):
            yield name, value


def as_json(found: Exported) -> str:
    """All figures and distributions in one document."""
    document = {
        "schema": SCHEMA,
        "study": found.study,
        "scale": found.scale,
        "question": found.question,
        "versions": found.versions,
        "imported": [asdict(source) for source in found.imported],
        "figures": {name: _meaning(name) for name in _names(found)},
        "rows": [_document(row) for row in found.rows],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _document(row: Row) -> Mapping[str, object]:
    names = [member.name for member in fields(row) if member.name != "summary"]
    return {name: getattr(row, name) for name in names}


def _meaning(name: str) -> Mapping[str, object]:
    try:
        figure = find_figure(name)
    except KeyError:  # A tool's own count, of which nobody knows which way is better.
        return {"title": name, "unit": "", "better": None}
    better = "higher" if figure.higher_is_better else "lower"
    return {"title": figure.title, "unit": figure.unit, "better": better}


def _names(found: Exported) -> list[str]:
    return list(dict.fromkeys(name for row in found.rows for name in row.figures))


def as_csv(found: Exported) -> str:
    """A line for each figure of a step."""
    out = io.StringIO()
    factors = list(dict.fromkeys(name for row in found.rows for name in row.cell))
    own = ("run", "block", "clients", "started_unix_s", "complete", "left_out")
    counts = ("window_s", "events", "errors")
    writer = csv.writer(out, lineterminator="\n")
    names = _names(found)
    levels_of = [f"factor.{name}" for name in factors]
    writer.writerow(["study", "scale", *levels_of, *own, *counts, *names])
    for row in found.rows:
        levels = [row.cell.get(name, "") for name in factors]
        row_values = [
            row.run,
            row.block,
            row.clients,
            row.started_unix_s,
            str(row.complete).lower(),
        ]
        values = [row.figures.get(name, "") for name in names]
        numbers = [getattr(row, name) for name in counts]
        reasons = "; ".join(row.left_out)
        writer.writerow(
            [found.study, found.scale, *levels, *row_values, reasons, *numbers, *values]
        )
    return out.getvalue()


def as_benchfmt(found: Exported) -> str:
    """Go's benchmark format: a result a row, so that `benchstat` takes blocks for repeats.

    Rows that enter no verdict are comments: their figures mean nothing.
    """
    labels = {"study": found.study, "scale": found.scale}
    labels |= {f"{_UNFIT.sub('-', name).lower()}-version": v for name, v in found.versions.items()}
    if found.imported:
        labels["imported"] = "true"
    lines = [f"{name}: {value}" for name, value in labels.items()]
    units = {name: _unit(name) for name in _names(found)}
    for name, (unit, _) in units.items():
        better = _meaning(name)["better"]
        if better is not None:
            lines.append(f"Unit {unit} better={better}")
    lines.append("")
    for row in found.rows:
        lines.append(_result(found, row, units))
    return "\n".join(lines) + "\n"


def _result(found: Exported, row: Row, units: Mapping[str, tuple[str, float]]) -> str:
    if not row.complete or row.left_out:
        why = "; ".join(row.left_out) or "not complete"
        return f"# left out: {row.run} at {row.clients} clients: {why}"
    levels = [*row.cell.items(), ("clients", str(row.clients))]
    parts = "/".join(f"{_fit(name)}={_fit(level)}" for name, level in levels)
    name = _fit(found.study)
    pairs = [
        f"{value * units[figure][1]:.6g} {units[figure][0]}"
        for figure, value in row.figures.items()
    ]
    return "\t".join(
        [f"Benchmark{name[:1].upper()}{name[1:]}/{parts}", str(max(1, row.events)), *pairs]
    )


def _fit(text: str) -> str:
    """Without what ends a name, begins a part of it, or is read as a number of processors."""
    return _UNFIT.sub("_", text).strip("_") or "_"


def _unit(name: str) -> tuple[str, float]:
    """What a figure is called there, and its factor: times in seconds, as benchstat has them."""
    unit = str(_meaning(name)["unit"])
    if name == "mean":
        return "sec/op", _SECONDS[unit]
    if name in ("throughput", "statements_per_s"):
        return unit, 1.0
    if unit in _SECONDS:
        bare = re.sub(r"_(us|ms|s)(?=_|\.|$)", "", name)
        return f"{_fit(bare)}-sec", _SECONDS[unit]
    return _fit(name), 1.0


def hlogs(found: Exported) -> Mapping[str, str]:
    """Run → its log of distributions; runs that have none are not in it."""
    runs = dict.fromkeys(row.run for row in found.rows)
    logs = {run: latency_log(found.store, found.study, run) for run in runs}
    return {run: log for run, log in logs.items() if log}


def as_ycsb(found: Exported) -> str:
    """What YCSB's client prints, for each row; where there are several, a comment before each."""
    texts = [ycsb_text(row.summary) for row in found.rows]
    if len(texts) == 1:
        return texts[0]
    commented = zip(found.rows, texts, strict=True)
    return "\n".join(f"# {row.run}, {row.clients} clients\n{text}" for row, text in commented)


WRITERS = {"benchfmt": as_benchfmt, "csv": as_csv, "json": as_json, "ycsb": as_ycsb}
