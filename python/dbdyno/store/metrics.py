"""`metrics.parquet`: everything sampled beside the load, in one long table.

One row per value: wall clock, source, metric, instance, value. The metrics' units, kinds and
descriptions are in the file's metadata, so that readers need no current list of metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq

from dbdyno.model import Metric, Sample

_VERSION = "1"
_WORD = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    [
        ("unix_ns", pa.int64()),
        ("source", _WORD),
        ("metric", _WORD),
        ("instance", _WORD),
        ("value", pa.float64()),
    ]
)


def to_parquet(samples: Iterable[Sample], metrics: Mapping[str, Sequence[Metric]]) -> bytes:
    """The file's content; `metrics` says what each source's metrics are."""
    rows = list(samples)
    documents = {source: [asdict(metric) for metric in known] for source, known in metrics.items()}
    schema = _SCHEMA.with_metadata({"schema": _VERSION, "metrics": json.dumps(documents)})
    columns = {
        name: [getattr(row, name) for row in rows]
        for name in ("unix_ns", "source", "metric", "instance", "value")
    }
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())


def from_parquet(content: bytes) -> tuple[pa.Table, Mapping[str, Mapping[str, Metric]]]:
    """The table, and source → name → metric.

    Raises `pyarrow.ArrowException` if it isn't one, `KeyError` for a column that is not there.
    """
    table = pq.read_table(pa.BufferReader(content))
    table = table.select(_SCHEMA.names).cast(_SCHEMA.with_metadata(table.schema.metadata))
    documents = json.loads((table.schema.metadata or {}).get(b"metrics", b"{}"))
    return table, {
        source: {metric["name"]: Metric(**metric) for metric in known}
        for source, known in documents.items()
    }
