"""Metrics that name no member, where replicas took the primary's place."""

from __future__ import annotations

from dbdyno.model.fault import FaultResult
from dbdyno.report.gates.promoted import promoted_gate

WINDOWS = (
    (
        FaultResult(1, "promote", "primary", 2, promoted="replica-1"),
        FaultResult(3, "promote", "replica-1", 4, promoted="primary"),
    ),
    (),
)


def test_without_a_promotion_there_is_nothing_to_say() -> None:
    assert promoted_gate([(FaultResult(1, "kill", "primary", 2),)], "throughput") is None


def test_the_member_is_named_to_which_metrics_belong() -> None:
    gate = promoted_gate(WINDOWS, "write_outage_ms_p50")

    assert gate is not None
    assert gate.state == "ok"
    assert "2 times" in gate.text
    assert "are those of primary throughout" in gate.text


def test_a_study_judged_by_a_replaced_servers_metric_is_doubtful() -> None:
    states = {
        metric: gate.state
        for metric in (
            "postgresql.wal_bytes",
            "postgresql.wal_bytes.replica-1",
            "disk.written_bytes",
        )
        if (gate := promoted_gate(WINDOWS, metric)) is not None
    }

    assert states == {
        "postgresql.wal_bytes": "doubtful",
        "postgresql.wal_bytes.replica-1": "ok",
        "disk.written_bytes": "ok",
    }
