"""`dbdyno bench`: one measurement of a server somebody runs, without a study file."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from dbdyno.cli.load_options import load_of, load_options
from dbdyno.cli.options import json_option, print_json
from dbdyno.cli.pace import Pace
from dbdyno.cli.text import count, latency
from dbdyno.conduct.bench import BenchPlan, BenchResult, without_password
from dbdyno.conduct.bench import bench as measure
from dbdyno.engine import find_engine
from dbdyno.errors import InterruptedRunError
from dbdyno.formats.quantities import format_duration
from dbdyno.model import Interval, Option, Output, Progress, Record, StepSummary, Summary, TableLoad

_PROGRESS_S = 1.0


def _options(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Option]:
    options: dict[str, Option] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"expected NAME=VALUE; found `{text}`")
        key = name.strip().replace("-", "_")
        options[key] = int(value) if value.lstrip("-").isdecimal() else value
    return options


@click.command()
@click.argument("url")
@click.option("--script", required=True, help="A file, or the name of a script.")
@click.option(
    "--option",
    "options",
    multiple=True,
    callback=_options,
    metavar="NAME=VALUE",
    help="An option of the script; can be repeated.",
)
@click.option("--prepare", is_flag=True, help="Let the script load its tables first.")
@click.option("--cleanup", is_flag=True, help="Let the script drop its tables in the end.")
@load_options
@click.option("--seed", type=click.IntRange(0, 2**48 - 1), default=1, show_default=True)
@json_option
def bench(
    url: str,
    script: str,
    options: dict[str, Option],
    prepare: bool,
    cleanup: bool,
    seed: int,
    as_json: bool,
    **pace: Any,
) -> None:
    """Measure the server at URL, which somebody else runs.

    \b
    postgresql://user:password@host:port/database
    postgresql://user@/database?host=/socket/folder&port=5432
    mysql://user:password@host1,host2:port/database
    mysql://user@/database?socket=/path/to/mysql.sock
    sqlite:///path/to/file.db?journal_mode=wal
    null:
    """
    load = load_of(**pace)
    bench_plan = BenchPlan(
        url=url,
        script=script,
        options=options,
        clients=load.clients[0],
        load=load,
        seed=seed,
        prepare=prepare,
        cleanup=cleanup,
    )
    result = measure(bench_plan, find_engine(), observe=_Teller().show)
    if as_json:
        print_json(_document(bench_plan, result))
    else:
        _print(result)
    if result.failure is not None:
        raise result.failure
    if result.interrupted:
        raise InterruptedRunError("interrupted; the figures are of what was measured until then")


class _Teller:
    """Tells on standard error what happens; what takes long, once a second."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PROGRESS_S
        self._pace = Pace()
        self._untold = ""
        """How many rows were loaded, as long as it has not been said."""

    def show(self, command: str, record: Record) -> None:
        """One record of a command."""
        match record:
            case Interval() if command == "run" and record.phase in ("warm-up", "measure"):
                length_s = (record.end_ns - record.start_ns) / 1e9
                rate = record.counters.events / length_s if length_s > 0 else 0.0
                at = format_duration(round(record.end_ns / 1e9))
                click.echo(f"{record.phase:>8} {at:>8}  {count(rate)} events/s", err=True)
            case Progress() if command == "run" or record.what == "rows":
                line = f"{command:>8}  {self._pace.text(record)}"
                due = time.monotonic() >= self._next
                if due:
                    self._next = time.monotonic() + _PROGRESS_S
                    click.echo(line, err=True)
                self._untold = line if record.what == "rows" and not due else ""
            case Summary() if self._untold:
                click.echo(self._untold, err=True)
                self._untold = ""
            case Output():
                click.echo(record.text, err=True)
            case _:
                pass


def _print(result: BenchResult) -> None:
    summary = result.summary
    lines = [
        ("statements", f"{count(summary.statements)} ({count(summary.statements_per_s)}/s)"),
        ("events", f"{count(summary.events)} ({count(summary.events_per_s)}/s)"),
        ("errors", count(summary.errors)),
        ("window", format_duration(summary.window_s)),
        *((f"latency {name}", latency(value)) for name, value in summary.latency_us.items()),
        *_open_loop(summary),
        *_labels(summary),
    ]
    if summary.client_cpu_us_per_statement is not None:
        cpu = f"{summary.client_cpu_us_per_statement:.2f} µs a statement"
        lines.append(("client CPU", cpu))
    lines.append(("client memory", f"{summary.client_rss_kb:,} KiB"))
    processes = "1 process" if result.processes == 1 else f"{result.processes} processes"
    shards = "1 shard" if result.shards == 1 else f"{result.shards} shards"
    lines.append(("engine", f"{processes}, {shards}, {result.reactor}"))
    if result.loads:
        lines.insert(0, ("tables", _loads(result.loads)))
    for name, value in lines:
        click.echo(f"{name:<14} {value}")
    for warning in result.warnings:
        click.echo(f"warning: {warning.message}", err=True)


def _loads(loads: Sequence[TableLoad]) -> str:
    """Only what is as it was sent; the rest are warnings."""
    fine = [load for load in loads if load.rows == load.sent]
    rows = sum(load.sent or 0 for load in fine)
    took = format_duration(sum(load.took_s for load in loads))
    return f"{count(len(fine))} of {count(len(loads))} have the {count(rows)} rows sent ({took})"


def _open_loop(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """What a closed loop has not."""
    if summary.wait_us:
        yield "wait p99", latency(summary.wait_us["p99"])
        yield "service p99", latency(summary.service_us["p99"])
        backlog = summary.backlog
        yield "backlog", f"{count(backlog.at_end)}, at most {count(backlog.highest)}"


def _labels(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """The kinds of events, where the script names them."""
    for label, events in sorted(summary.events_by_label.items()):
        name = label.partition("/")[2]
        if name:
            times = summary.latency_by_label_us
            response = f"event.{label}.response"
            found = times.get(response) or times[f"event.{label}.service"]
            rate = events / summary.window_s
            yield name, f"{count(events)} ({count(rate)}/s), p99 {latency(found['p99'])}"


def _document(bench_plan: BenchPlan, result: BenchResult) -> dict[str, object]:
    summary = result.summary
    arguments = [without_password(word) for word in sys.argv[1:]]
    return {
        "schema": 1,
        "statements": summary.statements,
        "statements_per_s": summary.statements_per_s,
        "events": summary.events,
        "events_per_s": summary.events_per_s,
        "errors": summary.errors,
        "errors_by_code": dict(summary.errors_by_code),
        "restarts": summary.restarts,
        "reconnects": summary.reconnects,
        "latency_us": dict(summary.latency_us),
        "events_by_label": dict(summary.events_by_label),
        "latency_by_label_us": {
            label: dict(figures) for label, figures in summary.latency_by_label_us.items()
        },
        "wait_us": dict(summary.wait_us),
        "service_us": dict(summary.service_us),
        "lag_us": dict(summary.lag_us),
        "backlog": summary.backlog.at_end,
        "backlog_highest": summary.backlog.highest,
        "client_cpu_us_per_statement": summary.client_cpu_us_per_statement,
        "client_rss_kb": summary.client_rss_kb,
        "client_rss_peak_kb": summary.client_rss_peak_kb,
        "window_s": summary.window_s,
        "clients": summary.clients,
        "total_statements": summary.total_statements,
        "total_events": summary.total_events,
        "url": without_password(bench_plan.url),
        "script": str(result.script),
        "options": dict(bench_plan.options),
        "seed": bench_plan.seed,
        "reactor": result.reactor,
        "scheduling": result.scheduling,
        "clock": result.clock,
        "processes": result.processes,
        "shards": result.shards,
        "versions": dict(result.versions),
        "command_line": shlex.join(["dbdyno", *arguments]),
        "interrupted": result.interrupted,
        "loads": [asdict(load) for load in result.loads],
        "warnings": [
            {"code": warning.code, "message": warning.message} for warning in result.warnings
        ],
    }
