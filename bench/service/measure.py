"""One cell, measured once: the engine's times and, of the very same statements, the proxy's."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from bench.child import compiled, run_child
from bench.place import socket_of
from bench.service.cells import Cell
from bench.service.served import ROWS
from dbdyno import stats
from dbdyno.engine import Engine
from dbdyno.errors import MachineError
from dbdyno.formats.histograms import decode
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.formats.records import parse_record
from dbdyno.model import Output, Summary

_FOLDER = Path(__file__).parent
_SCRIPT = _FOLDER / "stamped_select.lua"
_LOOPBACK = "127.0.0.1"
_STAMPS = 5
"""Numbers the proxy writes for a statement."""
Moments = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as both saw it: an element a statement, moments in nanoseconds since one origin."""

    summary: Summary
    way_ns: int
    """How long the kernel takes from a call of `send` to its stamp, at best."""
    asked_ns: Moments
    """The script asks for the statement."""
    arrived_ns: Moments
    """It is in the proxy's socket."""
    answered_ns: Moments
    """The proxy gives its reply to the kernel."""
    resumed_ns: Moments
    """The script goes on."""


def build_proxy(folder: Path) -> Path:
    """Compiles the proxy into the folder. Raises `MachineError` where that fails."""
    return compiled(_FOLDER / "stamping_proxy.c", folder)


@contextmanager
def _proxied(program: Path, socket: Path, file: Path) -> Iterator[tuple[int, int]]:
    """A proxy before a server's socket: its port, and the kernel's way to it in nanoseconds. It
    writes its stamps at the end."""
    process = subprocess.Popen(
        [program, socket, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None, "both are pipes"
    try:
        port, way_ns = map(int, process.stdout.readline().split())
        yield port, way_ns
        process.stdin.close()
        if process.wait() != 0:
            raise MachineError(f"the proxy ended with code {process.returncode}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def see(
    engine: Engine, program: Path, target: Mapping[str, Any], cell: Cell, statements: int
) -> Seen:
    """Runs the cell for so many statements through the proxy that was built as `program`.

    # Errors
    `MachineError` when engine or proxy fails, or the two did not see the same statements.
    """
    origin_s = int(time.time())
    file = program.with_name("stamps")
    with _proxied(program, socket_of(target), file) as (port, way_ns):
        options = {"rows": ROWS, "origin_s": origin_s}
        spec = {
            "schema": SCHEMA,
            "target": {**target, "endpoints": [{"tcp": {"host": _LOOPBACK, "port": port}}]},
            "groups": [{"script": str(_SCRIPT), "options": options, **cell.group()}],
            "events": statements,
            "reactor": cell.reactor,
            "scheduling": cell.scheduling,
        }
        child = run_child([engine.path, "run", "-"], stdin=json.dumps(spec))
    lines = child.output.splitlines()
    records = [parse_record(line, number=at) for at, line in enumerate(lines, 1)]
    summary = records[-1]
    assert isinstance(summary, Summary), "a run that ended well ends with its summary"
    rows = np.fromfile(file, dtype=np.int64).reshape(-1, _STAMPS)
    # One connection's statements after the other's. Each carries the resumption after the one
    # before it; of the last one the script has told.
    connection, asked, carried, arrived, answered = rows[np.argsort(rows[:, 0], kind="stable")].T
    resumed = np.append(carried[1:], 0)
    counts = {}
    for record in records:
        if isinstance(record, Output):
            last_asked, last_resumed = record.text.split()
            counts[int(last_asked)] = int(last_resumed)
    for at in np.flatnonzero(np.append(np.diff(connection), 1)):
        resumed[at] = counts[int(asked[at])]
    if summary.measured.statements != len(rows):
        raise MachineError(
            f"{summary.measured.statements} statements by the engine, {len(rows)} by the proxy"
        )
    origin_ns = origin_s * 1_000_000_000
    return Seen(summary, way_ns, asked, arrived - origin_ns, answered - origin_ns, resumed)


def figures(seen: Seen) -> Mapping[str, float]:
    """Means over all statements, microseconds.

    The engine says how long a statement was under way. Without its time in the proxy and its
    reply's time from there to the script, what is left is the sending, and less than it by what the
    script takes to go on (`sending_least_us`). From the script's asking to the arrival, without
    what lay queued, is the sending and what encoding takes (`sending_most_us`).
    """
    service, queued, unread = (
        times(seen.summary, label, kind)
        for label, kind in (("read", "service"), ("queued", "wait"), ("unread", "wait"))
    )
    inside = (seen.answered_ns - seen.arrived_ns) / 1e3
    reply_us = float((seen.resumed_ns - seen.answered_ns).mean()) / 1e3
    asking_us = float((seen.arrived_ns - seen.asked_ns).mean()) / 1e3
    service_us, queued_us = stats.mean(service) / 1e3, stats.mean(queued) / 1e3
    proxy_us = float(inside.mean())
    return {
        "statements": float(len(inside)),
        "statements_per_s": len(inside) / seen.summary.window_s,
        "service_us": service_us,
        "proxy_us": proxy_us,
        "sending_least_us": service_us - proxy_us - reply_us,
        "sending_most_us": asking_us - queued_us,
        "way_us": seen.way_ns / 1e3,
        "reply_us": reply_us,
        "queued_us": queued_us,
        "unread_us": stats.mean(unread) / 1e3,
    }


def times(summary: Summary, label: str, kind: str) -> HdrHistogram:
    """One of the summary's distributions."""
    (found,) = [
        histogram
        for histogram in summary.histograms
        if (histogram.label, histogram.time) == (label, kind)
    ]
    return decode(found)
