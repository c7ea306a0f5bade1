"""Tables of samples and turns: what is written is what is read, with what each metric is."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from dbdyno.model import Canary, Metric, Sample, TurnResult
from dbdyno.store import metrics, turns

READS = Metric("reads", "", "counter", "Reads that ended")
SAMPLES = (
    Sample(1_700_000_000_000_000_000, "disk", "reads", "vda", 12.0),
    Sample(1_700_000_001_000_000_000, "disk", "reads", "", 13.5),
)
TURN = TurnResult(
    step=0,
    round=1,
    position=0,
    start_unix_ns=1_700_000_000_000_000_000,
    end_unix_ns=1_700_000_002_000_000_000,
    drained_unix_ns=1_700_000_002_000_500_000,
    window_s=2.0,
    events=100,
    statements=2000,
    errors=0,
    client_cpu_us=5000,
    turn_events=120,
    p50_us=1.5,
    p95_us=2.5,
    p99_us=None,
    max_us=9.0,
    steal_s=None,
    steal_over_s=2.4,
    held_back_s=0.1,
)


def test_samples_come_back_with_what_their_metrics_are() -> None:
    table, known = metrics.from_parquet(metrics.to_parquet(SAMPLES, {"disk": (READS,)}))

    assert [Sample(**row) for row in table.to_pylist()] == list(SAMPLES)
    assert known == {"disk": {"reads": READS}}


def test_nothing_sampled_is_a_table_without_rows() -> None:
    table, known = metrics.from_parquet(metrics.to_parquet((), {}))

    assert (table.num_rows, known) == (0, {})


def test_turns_come_back_whole() -> None:
    before, after = Canary(2e4, 9e9, 900.5, 8e4), Canary(1e4, 9e9, None, 8e4)
    known = replace(TURN, before=before, after=after)

    assert turns.from_parquet(turns.to_parquet([TURN, known])) == (TURN, known)


def test_turns_of_before_there_were_canaries_have_none() -> None:
    table = pq.read_table(pa.BufferReader(turns.to_parquet([TURN])))
    older = pa.BufferOutputStream()
    pq.write_table(table.drop_columns(["before", "after"]), older)

    assert turns.from_parquet(bytes(older.getvalue())) == (TURN,)
