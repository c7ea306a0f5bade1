"""What each load host has measured, and how far its clock was known."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.terms.table import Column, Table
from dbdyno.report.terms.wording import count, number


def load_host_tables(analysis: Analysis) -> Iterator[Table]:
    """A row for each step of each run and host; none where the load came from one machine."""
    rows = tuple(
        (
            run.manifest.id,
            step.clients,
            host.name,
            host.clients,
            host.events,
            host.events_per_s,
            host.p50_us,
            host.p99_us,
            host.clock_ahead_us,
            host.clock_drift_ppm,
            host.clock_uncertainty_us,
            host.lost,
        )
        for run in analysis.material.runs
        for step in run.manifest.steps
        for host in step.hosts
    )
    if rows:
        yield Table("load-hosts", "Load hosts", _COLUMNS, rows).without_empty()


_COLUMNS = (
    Column("Run", "run"),
    Column("Clients of all", "clients", count),
    Column("Host", "host"),
    Column("Its clients", "host_clients", count),
    Column("Events", "events", count),
    Column("Events/s", "events_per_s", number),
    Column("p50, µs", "p50_us", number),
    Column("p99, µs", "p99_us", number),
    Column("Clock ahead, µs", "clock_ahead_us", number),
    Column("Clock's drift, µs/s", "clock_drift_ppm", number),
    Column("Clock known to, µs", "clock_uncertainty_us", number),
    Column("Lost", "lost"),
)
