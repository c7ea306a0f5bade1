"""Estimates a study's time and disk space before anything is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.design.batches import batches
from dbdyno.design.search import usual_probes
from dbdyno.generators.registry import find_generator
from dbdyno.model import ENGINE, Cell, Load, Option, Plan, PlannedRun, Verify
from dbdyno.servers import Source, parse_provision
from dbdyno.setters.registry import find_setter

_SET_UP_S = 5.0
"""Seconds to start, inspect and stop one server, without a download."""

_SET_UP_EMBEDDED_S = 1.5

_ROWS_PER_S = 50_000
_VERIFIED_ROWS_PER_S: Mapping[Verify, float] = {
    "none": math.inf,
    "counts": 2_000_000,
    "checksums": 150_000,
}
_BYTES_PER_ROW = 260
"""Bytes of a row of sysbench's tables with its primary and secondary index, before any bloat."""

_EVENTS_PER_S = 5_000
"""Events per second assumed for a step bounded only by its number of events."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rough figures, good only for planning."""

    time_s: float
    disk_bytes: int
    """Peak size of all data folders together; runs remove theirs."""


def estimate(plan: Plan, load: Load) -> Estimate:
    """Time for all runs, and disk space for those that are up together."""
    together = batches(plan, plan.runs)
    return Estimate(
        time_s=sum(run_time_s(run, load) for run in plan.runs),
        disk_bytes=max(
            (sum(_disk_bytes(run.cell) for run in batch) for batch in together), default=0
        ),
    )


def _disk_bytes(cell: Cell) -> int:
    """Size of the rows, or of the file system image, which takes all its space from the start."""
    wish = cell.host.get("filesystem")
    image_bytes = 0 if wish is None else find_setter("filesystem").read(wish).size_bytes
    return max(image_bytes, rows(cell) * _BYTES_PER_ROW)


def run_time_s(run: PlannedRun, load: Load) -> float:
    """Time to set up, load and verify the rows, and run all steps of one run."""
    embedded = parse_provision(run.cell.provision).source is Source.EMBEDDED
    set_up_s = _SET_UP_EMBEDDED_S if embedded else _SET_UP_S
    load_s = rows(run.cell) / _ROWS_PER_S + rows(run.cell) / _VERIFIED_ROWS_PER_S[load.verify]
    return set_up_s + load_s + len(run.steps) * step_time_s(load, run.cell.generator)


def step_time_s(load: Load, generator: str = ENGINE) -> float:
    """Warm-up and window; for a search, times its usual number of probes."""
    event_s = None if generator == ENGINE else find_generator(generator).event_s
    if event_s is not None:
        return (load.events or 0) * event_s
    window_s = load.measure_s
    if window_s is None:
        window_s = (load.events or 0) / _EVENTS_PER_S
    return (load.warm_up_s + window_s) * (usual_probes(load.find_max) if load.find_max else 1)


def rows(cell: Cell) -> int:
    """Rows the script will load, by sysbench's names for the options."""
    options = cell.preparing.options
    return _whole(options, "tables", 1) * _whole(options, "table_size", 0)


def _whole(options: Mapping[str, Option], name: str, default: int) -> int:
    value = options.get(name, options.get(name.replace("_", "-"), default))
    return value if isinstance(value, int) else default
