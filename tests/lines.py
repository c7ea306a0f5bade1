"""Lines of the engine's stream, written out after `crates/record/src/stream.rs`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hdrh.histogram import HdrHistogram

COUNTERS = {
    "events": 100,
    "reads": 300,
    "writes": 200,
    "other": 100,
    "errors": 2,
    "restarts": 1,
    "reconnects": 0,
    "bytes_sent": 1000,
    "bytes_received": 2000,
}
START_UNIX_NS = 1_756_000_000_250_000_000


def histogram(
    values_ns: Sequence[int], label: str = "main", time: str = "response"
) -> dict[str, object]:
    """A `HistogramRecord` of events."""
    recorded = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values_ns:
        recorded.record_value(value)
    return {
        "subject": "event",
        "label": label,
        "time": time,
        "count": len(values_ns),
        "out_of_range": 0,
        "hdr": recorded.encode().decode(),
    }


def hello(**changes: object) -> bytes:
    return _line(
        "hello",
        schema=2,
        engine_version="0.1.0",
        luajit_version="LuaJIT 2.1",
        reactor="none",
        shards=1,
        pid=42,
        start_unix_ns=START_UNIX_NS,
        seed=7,
        **changes,
    )


def interval(index: int = 0, **changes: object) -> bytes:
    fields: dict[str, object] = {
        "index": index,
        "phase": "measure",
        "start_ns": index * 1_000_000_000,
        "end_ns": (index + 1) * 1_000_000_000,
        "clients": 4,
        "counters": COUNTERS,
        "errors": {"40P01": 2},
        "backlog": 0,
        "cpu": {"user_us": 3000, "system_us": 1000},
        "histograms": [histogram([1_000_000, 2_000_000, 3_000_000])],
    }
    return _line("interval", **{**fields, **changes})


def summary(**changes: object) -> bytes:
    fields: dict[str, object] = {
        "interrupted": False,
        "start_ns": 1_000_000_000,
        "end_ns": 3_000_000_000,
        "measured": COUNTERS,
        "total": {**COUNTERS, "events": 150, "reads": 450},
        "errors": {"40P01": 2},
        "cpu": {"user_us": 6000, "system_us": 6000},
        "rss_peak_kb": 20_000,
        "rss_kb": 15_000,
        "clients": 4,
        "histograms": [histogram(range(1_000_000, 101_000_000, 1_000_000))],
    }
    return _line("summary", **{**fields, **changes})


def plan(clients: int, *, scripts: int = 0) -> bytes:
    """The engine's answer to `plan`: one process, whatever the spec says. `scripts`: that were
    asked for their data, of which none says any."""
    document: dict[str, object] = {
        "schema": 2,
        "engine_version": "0.1.0",
        "clients": clients,
        "processes": 1,
        "shards": 1,
        "shards_bound": False,
        "reactor": "none",
        "loaders": 0,
        "connectors": 1,
        "connecting": 1,
        "connections": clients,
        "open_files": clients,
        "open_files_limit": None,
        "open_files_of_all": clients,
        "memory_bytes_per_client": 1,
        "memory_bytes": clients,
        "is_local": True,
        "back_off": {"first_ms": 10, "longest_ms": 250, "give_up_s": 60.0},
    }
    if scripts:
        document["volumes"] = [None] * scripts
    return json.dumps(document).encode() + b"\n"


def fatal(kind: str, message: str) -> bytes:
    return _line("fatal", kind=kind, message=message, hint=None, traceback="kv.lua:3: in event")


def warning(code: str, message: str, hint: str | None = None) -> bytes:
    return _line("warning", code=code, message=message, hint=hint)


def phase(name: str) -> bytes:
    return _line("phase", phase=name, at_ns=5)


def _line(record: str, **fields: object) -> bytes:
    return json.dumps({"record": record, **fields}).encode() + b"\n"
