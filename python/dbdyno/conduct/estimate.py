"""Estimates a study's time and disk space before anything is run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath

from dbdyno.conduct.topology import count_of_servers
from dbdyno.conduct.volume import ask_volumes, volume_of
from dbdyno.design.batches import batches, turns_of
from dbdyno.design.search import usual_probes
from dbdyno.design.turns import CANARIES_APART_S
from dbdyno.formats.quantities import size_of_setting
from dbdyno.model import (
    EVENTS_PER_S,
    Cell,
    Load,
    Plan,
    PlannedRun,
    Study,
    Verify,
    Volume,
)
from dbdyno.servers import Provision, Source, kind_of, parse_provision
from dbdyno.setters.registry import find_setter

_SET_UP_S = 5.0
"""Seconds to start, inspect and stop one server, without a download."""

_SET_UP_EMBEDDED_S = 1.5

_VERIFIED_ROWS_PER_S: Mapping[Verify, float] = {
    "none": math.inf,
    "counts": 2_000_000,
    "checksums": 150_000,
}

_CANARIES_S = 0.2
"""Their length between turns."""

_LOG_FILES_UNTIL = (10, 5)
"""MariaDB has a single redo log from this release on; before, and in MySQL, there are two files."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rough figures, good only for planning."""

    time_s: float
    disk_bytes: int
    """Peak size of all data folders together; runs remove theirs."""
    unknown: tuple[str, ...] = ()
    """Scripts and tools that don't tell how much data they make: nothing of it is in the time, nor
    in the disk space unless the study says how much it needs."""


def estimate(study: Study, plan: Plan) -> Estimate:
    """Time for all runs, and disk space for those that are up together, or what the study asks for
    if that is more."""
    load = study.load
    ask_volumes(run.cell for run in plan.runs)
    up = [sum(_disk_bytes(run, load) for run in batch) for batch in batches(plan, plan.runs)]
    cells = [run.cell for run in plan.runs]
    untold = (cell for cell in cells if volume_of(cell) is None and not _image_bytes(cell))
    return Estimate(
        time_s=sum(run_time_s(run, load) for run in plan.runs) + _between_turns_s(study, plan),
        disk_bytes=round(max([study.needs.disk_bytes or 0, *up])),
        unknown=tuple(dict.fromkeys(map(_maker, untold))),
    )


def run_time_s(run: PlannedRun, load: Load) -> float:
    """Time to set up, load and verify the rows, and run all steps of one run."""
    server = _server_of(run.cell)
    set_up_s = _SET_UP_EMBEDDED_S if server.source is Source.EMBEDDED else _SET_UP_S
    data = volume_of(run.cell) or Volume()
    rows_per_s = kind_of(server).rows_per_s
    verify_s = data.rows / _VERIFIED_ROWS_PER_S[load.verify]
    servers = count_of_servers(run.cell)
    if servers > 1:
        set_up_s *= servers
        verify_s *= 1 + 2 * servers  # All are compared after loading and after the load.
    fill_s = data.fill_s + data.rows / rows_per_s + verify_s
    steps_s = sum(step.clients * data.client_s for step in run.steps)
    steps_s += len(run.steps) * (step_time_s(load, data) + data.step_s)
    return set_up_s + fill_s + steps_s


def _between_turns_s(study: Study, plan: Plan) -> float:
    """Lead-ins, and the canaries in the pauses."""
    if plan.order != "turns":
        return 0.0
    design = study.design
    leads_s = [
        design.lead_in_of(turn, step.clients)
        for run in plan.runs
        for step in run.steps
        for turn in range(turns_of(study))
    ]
    turns_s = (lead_s + design.turn_s for lead_s in leads_s)
    pauses = sum(min(1.0, turn_s / CANARIES_APART_S) for turn_s in turns_s)
    return sum(leads_s) + _CANARIES_S * pauses


def step_time_s(load: Load, data: Volume) -> float:
    """Warm-up and window; for a search, times its usual number of probes."""
    window_s = load.measure_s
    if window_s is None:
        window_s = (load.events or 0) * data.event_s
    return (load.warm_up_s + window_s) * (usual_probes(load.find_max) if load.find_max else 1)


def _server_of(cell: Cell) -> Provision:
    return _parsed(cell.provision)


@cache
def _parsed(provision: str) -> Provision:
    """Parsing asks installed servers for their versions, which takes a tenth of a second."""
    return parse_provision(provision)


def _maker(cell: Cell) -> str:
    """Who makes its data, for people."""
    return PurePath(cell.preparing.script).stem if cell.abilities.takes_script else cell.generator


def _image_bytes(cell: Cell) -> int:
    """Of the file system made for the run, which takes all its space from the start."""
    wish = cell.host.get("filesystem")
    return 0 if wish is None else int(find_setter("filesystem").read(wish).size_bytes)


def _disk_bytes(run: PlannedRun, load: Load) -> float:
    """Of the server with its logs, the rows, and what events add; or of the file system they are
    in."""
    cell = run.cell
    data = volume_of(cell) or Volume()
    data_bytes = data.size_bytes + data.event_bytes * len(run.steps) * _events(load, data)
    own_bytes = kind_of(_server_of(cell)).empty_bytes + _log_bytes(cell, data_bytes)
    return _image_bytes(cell) or (own_bytes + data_bytes) * count_of_servers(cell)


def _events(load: Load, data: Volume) -> float:
    """Events that a step is expected to execute."""
    if load.events is not None:
        return load.events
    return step_time_s(load, data) * EVENTS_PER_S


def _log_bytes(cell: Cell, data_bytes: float) -> float:
    """What settings give to the redo log, which InnoDB reserves at its start, or to the write-ahead
    log, which PostgreSQL lets grow with what is written."""
    server, settings = _server_of(cell), cell.settings
    if server.kind == "postgresql":
        return min(size_of_setting(settings.get("max_wal_size", "1GB")), data_bytes)
    if "innodb_redo_log_capacity" in settings:
        return size_of_setting(settings["innodb_redo_log_capacity"])
    file_bytes = size_of_setting(settings.get("innodb_log_file_size", "0"))
    release = tuple(map(int, re.findall(r"\d+", server.version or "")[:2]))
    if server.kind == "mariadb" and not () < release < _LOG_FILES_UNTIL:
        return file_bytes
    return file_bytes * size_of_setting(settings.get("innodb_log_files_in_group", "2"))
