"""`turns.parquet`: one row per turn of a run whose cells were driven in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dbdyno.model import Canary, TurnResult

_TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "float | None": pa.float64(),
    "Canary | None": pa.struct([(field.name, pa.float64()) for field in fields(Canary)]),
}
_SCHEMA = pa.schema(
    [(field.name, _TYPES[str(field.type)]) for field in fields(TurnResult)],
    metadata={"schema": "1"},
)


def to_parquet(turns: Sequence[TurnResult]) -> bytes:
    """The file's content."""
    rows = [asdict(turn) for turn in turns]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), sink, compression="zstd")
    return bytes(sink.getvalue())


def from_parquet(content: bytes) -> tuple[TurnResult, ...]:
    """The turns, by step and then in order.

    Raises `pyarrow.ArrowException` if it isn't a table, `TypeError` if it isn't one of turns.
    """
    table = pq.read_table(pa.BufferReader(content))
    return tuple(TurnResult(**{**row, **_canaries(row)}) for row in table.to_pylist())


def _canaries(row: Mapping[str, Any]) -> Mapping[str, Canary]:
    return {name: Canary(**row[name]) for name in ("before", "after") if row.get(name)}
