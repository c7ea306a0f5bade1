"""`series.parquet`: one row per interval and step."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dbdyno.model import Interval
from dbdyno.store.figures import response_figures_ns

_COUNTS = (
    "events",
    "reads",
    "writes",
    "other",
    "errors",
    "restarts",
    "reconnects",
    "bytes_sent",
    "bytes_received",
)
_RESPONSES = ("p50", "p95", "p99", "p99.9", "max")

SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("index", pa.int64()),
        ("phase", pa.string()),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("clients", pa.int32()),
        *((name, pa.int64()) for name in _COUNTS),
        ("backlog", pa.int64()),
        ("cpu_user_us", pa.int64()),
        ("cpu_system_us", pa.int64()),
        *((f"response_ns_{name.replace('.', '')}", pa.int64()) for name in _RESPONSES),
    ],
    metadata={"schema": "1"},
)
"""Times count from the start of the step's engine; a response is null where no event ended."""

Row = dict[str, object]


def row(step: int, interval: Interval) -> Row:
    """One row; raises `EngineError` if a histogram is damaged."""
    figures = response_figures_ns(interval.histograms)
    responses = {name: figures.get(name) for name in _RESPONSES}
    return {
        "step": step,
        "index": interval.index,
        "phase": interval.phase,
        "start_s": interval.start_ns / 1e9,
        "end_s": interval.end_ns / 1e9,
        "clients": interval.clients,
        **{name: getattr(interval.counters, name) for name in _COUNTS},
        "backlog": interval.backlog,
        "cpu_user_us": interval.cpu.user_us,
        "cpu_system_us": interval.cpu.system_us,
        **{
            f"response_ns_{name.replace('.', '')}": None if value is None else round(value)
            for name, value in responses.items()
        },
    }


def to_parquet(rows: Sequence[Row]) -> bytes:
    """The file's content."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), sink, compression="zstd")
    return bytes(sink.getvalue())


def from_parquet(content: bytes) -> pa.Table:
    """The table in a file's content.

    Raises `pyarrow.ArrowException` if it isn't one, `KeyError` for a column that is not there.
    """
    table = pq.read_table(pa.BufferReader(content))
    return table.select(SCHEMA.names).cast(SCHEMA)
